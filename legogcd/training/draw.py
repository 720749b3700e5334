"""Which images an epoch sees, labelled and unlabelled equally often or in proportion; which are clustered."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

MOST_CLUSTERED = 50_000  # k-means on more would need more memory and find the same groups


def epoch_generator(seed: int, epoch: int) -> torch.Generator:
    """An epoch's own randomness: a run that goes on after an interruption draws what it would have drawn."""
    mixed = np.random.SeedSequence((seed, epoch)).generate_state(1, np.uint64)[0]
    return torch.Generator().manual_seed(int(mixed) >> 1)


def balanced_batches(labels: Tensor, batch_size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """As many draws with replacement as there are images, in batches of positions; the last short batch is dropped.

    A labelled image weighs 1, an unlabelled one (labelled count / unlabelled count); where one kind is
    missing all images weigh the same. A batch is never larger than the collection.

    >>> labels = torch.tensor([0, 1] + [-1] * 8)
    >>> [len(batch) for batch in balanced_batches(labels, 4, epoch_generator(0, 0))]
    [4, 4]
    """
    labelled = labels >= 0
    n_labelled, n_unlabelled = int(labelled.sum()), int((~labelled).sum())
    weights = torch.ones(len(labels), dtype=torch.float64)
    if n_labelled and n_unlabelled:
        weights[~labelled] = n_labelled / n_unlabelled
    batch_size = min(batch_size, len(labels))
    bounds = weights.cumsum(0)
    places = torch.rand(len(labels), dtype=torch.float64, generator=generator) * bounds[-1]
    draws = torch.searchsorted(bounds, places, right=True).clamp_(max=len(labels) - 1)
    for begin in range(0, len(draws) - batch_size + 1, batch_size):
        yield draws[begin : begin + batch_size]


def proportional_batches(labels: Tensor, batch_size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Every batch has labelled and unlabelled images as the collection has them, each image at most once an epoch.

    Of B images ⌊B · labelled share⌋ are labelled, at least one, and come first. What does not fill a batch is left out.

    >>> labels = torch.tensor([0, 1] + [-1] * 8)
    >>> [(labels[batch] >= 0).sum().item() for batch in proportional_batches(labels, 5, epoch_generator(0, 0))]
    [1, 1]
    """
    labelled, unlabelled = (torch.nonzero(kind)[:, 0] for kind in (labels >= 0, labels < 0))
    batch_size = min(batch_size, len(labels))
    first = batch_size * len(labelled) // len(labels)
    if len(labelled) and len(unlabelled) and batch_size > 1:
        first = min(max(1, first), batch_size - 1)
    shuffled = [kind[torch.randperm(len(kind), generator=generator)] for kind in (labelled, unlabelled)]
    parts = [(kind, size) for kind, size in zip(shuffled, (first, batch_size - first), strict=True) if size]
    for step in range(min(len(kind) // size for kind, size in parts)):
        yield torch.cat([kind[step * size : (step + 1) * size] for kind, size in parts])


DRAWS = {"balanced": balanced_batches, "proportional": proportional_batches}  # a recipe's `batches`, by name


def trained_images(labels: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Positions of ``count`` images to learn from, ascending: all labelled ones and others at random.

    >>> trained_images(np.array([-1, 0, -1, -1, 1, -1]), 3, seed=0).size
    3
    """
    labelled, others = np.flatnonzero(labels >= 0), np.flatnonzero(labels < 0)
    chosen = np.random.default_rng((seed, len(labels))).permutation(others)[: max(count - len(labelled), 0)]
    return np.sort(np.concatenate([labelled, chosen]))


def clustering_images(labels: np.ndarray, seed: int, most: int = MOST_CLUSTERED) -> np.ndarray:
    """Positions of the images that are clustered: all, or a random part that keeps labelled ones of each class.

    >>> clustering_images(np.array([0, -1, -1, -1, -1, 1]), seed=0, most=4).size
    4
    """
    if len(labels) <= most:
        return np.arange(len(labels))
    order = np.random.default_rng(seed).permutation(len(labels))
    first_of_class = order[np.unique(labels[order], return_index=True)[1]]  # one of each class, and one unlabelled
    others = order[~np.isin(order, first_of_class)]
    return np.sort(np.concatenate([first_of_class, others])[: max(most, len(first_of_class))])
