"""Any brick snaps onto the parametric method: it sees what it reads, and a saved method goes on as if never stopped."""

import torch

from legogcd.bricks import (
    AdaptiveThreshold,
    Brick,
    ConsensusDistillation,
    DebiasedDistillation,
    KnownAnchor,
    LocalEntropy,
    MomentumDistillation,
    NeighborConsistency,
    PriorAlignment,
    PrototypeSeparation,
    SupervisedCE,
)
from legogcd.methods import ParametricRecipe
from legogcd.methods.parametric import Parametric
from legogcd.training.checkpoint import load_checkpoint, save_checkpoint

LABELS = torch.tensor([0, 1, 2, 0, -1, -1, -1, -1])


def plugged(bricks: dict[str, tuple[float, Brick]]) -> Parametric:
    recipe = ParametricRecipe(projector_hidden=8, projector_out=4)
    return Parametric(dim=6, n_classes=5, n_known=3, bricks=bricks, recipe=recipe)


def all_new() -> Parametric:
    bricks: dict[str, Brick] = {
        "supervised_ce": SupervisedCE(),
        "prior": PriorAlignment(),
        "separation": PrototypeSeparation(),
        "consensus": ConsensusDistillation(),
        "debiased": DebiasedDistillation(),
        "momentum": MomentumDistillation(momentum=0.5),
        "anchor": KnownAnchor(),
        "neighbors": NeighborConsistency(),
        "ler": LocalEntropy(AdaptiveThreshold(floor=0.3)),
    }
    return plugged({name: (0.5, brick) for name, brick in bricks.items()})


def train(method: Parametric, optimizer: torch.optim.Optimizer, epochs: range) -> list[float]:
    losses = []
    for epoch in epochs:
        generator = torch.Generator().manual_seed(epoch)
        step = method.step(torch.randn(2, 8, 6, generator=generator), LABELS, epoch, torch.arange(8))
        optimizer.zero_grad()
        step.loss.backward()
        optimizer.step()
        losses.append(step.loss.item())
    return losses


def test_the_prototypes_are_there_for_a_brick_that_reads_them() -> None:
    method = plugged({"separation": (2.0, PrototypeSeparation(temperature=0.5))})
    step = method.step(torch.randn(2, 8, 6), LABELS, 0, torch.arange(8))
    step.loss.backward()
    directions = torch.nn.functional.normalize(method.prototypes.weight.detach(), dim=-1)
    cosines = (directions @ directions.T)[~torch.eye(5, dtype=torch.bool)].reshape(5, 4)
    torch.testing.assert_close(step.terms["separation"], (cosines / 0.5).exp().mean(dim=1).log().mean())
    assert (method.prototypes.weight.grad != 0).any(dim=1).all()


def test_a_resumed_method_with_every_new_brick_goes_on_exactly(tmp_path) -> None:
    torch.manual_seed(0)
    tail = torch.nn.Identity()
    unbroken, resumed = all_new(), all_new()
    optimizer = torch.optim.SGD(unbroken.parameters(), lr=0.05, momentum=0.9)
    train(unbroken, optimizer, range(4))
    save_checkpoint(tmp_path / "checkpoint.safetensors", tail, unbroken, optimizer, next_epoch=4)
    other = torch.optim.SGD(resumed.parameters(), lr=0.05, momentum=0.9)
    epoch = load_checkpoint(tmp_path / "checkpoint.safetensors", tail, resumed, other)
    assert train(resumed, other, range(epoch, 8)) == train(unbroken, optimizer, range(4, 8))
