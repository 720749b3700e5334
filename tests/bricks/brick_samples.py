"""Random steps and the list of all bricks, shared by the tests of this room."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from legogcd.bricks import (
    Brick,
    ClassDistributions,
    Collected,
    ConsensusDistillation,
    DualViewKL,
    InfoNCE,
    LocalEntropy,
    MeanEntropy,
    PriorAlignment,
    SelfDistillation,
    SupCon,
    SupervisedCE,
    SwappedPrediction,
    TwoViews,
)
from legogcd.bricks.view_consistency import ViewConsistency

BRICKS: dict[str, Callable[[], Brick]] = {
    "InfoNCE": InfoNCE,
    "SupCon": SupCon,
    "SupervisedCE": SupervisedCE,
    "SelfDistillation": SelfDistillation,
    "SwappedPrediction": SwappedPrediction,
    "MeanEntropy": MeanEntropy,
    "DualViewKL paper": lambda: DualViewKL("paper"),
    "DualViewKL symmetric": lambda: DualViewKL("symmetric"),
    "DualViewKL released": lambda: DualViewKL("released"),
    "LocalEntropy paper": lambda: LocalEntropy(0.5, margin="paper"),
    "LocalEntropy released": lambda: LocalEntropy(0.5, margin="released"),
    "LocalEntropy": lambda: LocalEntropy(0.5, margin=None),
    "ViewConsistency": lambda: ViewConsistency(0.1),
    "PriorAlignment": lambda: PriorAlignment(momentum=0.5),
    "ConsensusDistillation": ConsensusDistillation,
    "ClassDistributions": ClassDistributions,
}

STATES: dict[str, list[str]] = {  # what each of them remembers from step to step
    "LocalEntropy paper": ["mean_prediction"],
    "LocalEntropy released": ["mean_prediction"],
    "PriorAlignment": ["shares.mean"],
}

SHAPES = [(1, 1, 1, 2), (1, 3, 2, 4), (2, 2, 1, 3), (5, 4, 2, 6), (7, 6, 3, 2)]  # images, classes, known, dimensions


def random_views(
    seed: int, images: int = 6, classes: int = 5, n_known: int = 3, dimensions: int = 4, epoch: int = 0
) -> TwoViews:
    """Float64 views: cosine-like logits, some peaked, and about half of the images labelled."""
    generator = torch.Generator().manual_seed(seed)

    def uniform(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator, dtype=torch.float64)

    labels = torch.randint(0, n_known, (images,), generator=generator)
    return TwoViews(
        projections=torch.randn(2, images, dimensions, generator=generator, dtype=torch.float64),
        logits=2 * uniform(2, images, classes) - 1,
        labels=labels.masked_fill(uniform(images) < 0.5, -1),
        n_known=n_known,
        epoch=epoch,
    )


def comparable_views(seed: int, images: int = 6, dimensions: int = 8, **shape: int) -> TwoViews:
    """Random views with features, a few of them alike, and the images' places in a collection."""
    generator = torch.Generator().manual_seed(seed)
    kinds = torch.randint(0, 3, (images,), generator=generator)
    features = 3 * torch.randn(3, dimensions, generator=generator, dtype=torch.float64)[kinds]  # [B, D]
    noise = torch.randn(2, images, dimensions, generator=generator, dtype=torch.float64)
    index = 10 * torch.randperm(images, generator=generator)
    return replace(random_views(seed, images, **shape), features=features + 0.2 * noise, index=index)


def collected_around(views: TwoViews, seed: int = 0, epoch: int = 0) -> Collected:
    """A collection in which comparable views have their places, with random groups."""
    generator = torch.Generator().manual_seed(seed)
    images, classes = 10 * len(views.labels), views.logits.shape[-1]
    dimensions = [tensor.shape[-1] for tensor in (views.features, views.projections)]
    features, projections = (torch.randn(images, d, generator=generator, dtype=torch.float64) for d in dimensions)
    labels = torch.full((images,), -1)
    labels[views.index] = views.labels

    def groups(levels: int) -> Tensor:
        drawn = [torch.randint(max(2, classes >> level), (images,), generator=generator) for level in range(levels)]
        return torch.stack(drawn)

    return Collected(features, projections, labels, classes, views.n_known, epoch, groups)


def certain_of(first: int, second: int, images: int = 6, classes: int = 5) -> Tensor:
    """Float64 logits [2, B, K] of views that are sure, all first ones of one class and all second ones of one."""
    return 1e4 * torch.eye(classes, dtype=torch.float64)[[first, second]][:, None].repeat(1, images, 1)


def unlabelled(views: TwoViews) -> TwoViews:
    return replace(views, labels=torch.full_like(views.labels, -1))


def value_and_gradients(brick: Brick, views: TwoViews) -> tuple[Tensor, Tensor, Tensor]:
    """The term and its gradients by projections and by logits (zeros where a brick does not read them)."""
    projections = views.projections.clone().requires_grad_()
    logits = views.logits.clone().requires_grad_()
    value = brick(replace(views, projections=projections, logits=logits))
    by_projections, by_logits = torch.autograd.grad(
        value, (projections, logits), allow_unused=True, materialize_grads=True
    )
    return value.detach(), by_projections, by_logits
