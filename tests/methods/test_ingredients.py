"""Bricks that look at the collection or learn weights of their own: added by name they train, and resume exactly."""

import pytest
import torch
from torch import Tensor

from legogcd.methods import build_method, method_entry
from legogcd.methods.parametric import Parametric

NAMES = ["classwise", "hierarchy", "known_head", "mean_shift"]
BASES = ["legogcd", "legogcd+"]
EVERY = [f"{base}:{name}" for base in BASES for name in NAMES]

FEATURES = torch.randn(40, 6, generator=torch.Generator().manual_seed(0)) + 1  # of the whole collection
LABELS = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1, 2, 0] + 30 * [-1])


def built(name: str) -> Parametric:
    small = {"projector_hidden": 8, "projector_out": 4, "start": "kmeans"}
    whitened = {"whitened_dim": 4} if name.startswith("legogcd+") else {}
    method = build_method(name, 6, 5, 3, method_entry(name).recipe().with_settings(small | whitened))
    assert isinstance(method, Parametric)
    return method


def epoch_of(method: Parametric, epoch: int, optimizer: torch.optim.Optimizer | None = None) -> list[Tensor]:
    """Losses of an epoch's three steps, after which the method is moved if there is an optimizer."""
    method.before_epoch(epoch, lambda: iter(FEATURES.split(16)), LABELS)
    generator = torch.Generator().manual_seed(epoch)
    losses = []
    for _ in range(3):
        index = torch.randperm(40, generator=generator)[:12]
        pair = FEATURES[index] + 0.1 * torch.randn(2, 12, 6, generator=generator)
        step = method.step(pair, LABELS[index], epoch, index)
        losses.append(step.loss.detach())
        if optimizer:
            optimizer.zero_grad()
            step.loss.backward()
            optimizer.step()
    return losses


@pytest.mark.parametrize("name", EVERY)
def test_its_term_is_finite_and_moves_the_method(name: str) -> None:
    method, brick = built(name), name.partition(":")[2]
    method.start(FEATURES.numpy(), LABELS.numpy(), seed=0)
    method.before_epoch(0, lambda: iter(FEATURES.split(16)), LABELS)
    index = torch.arange(5, 17)  # labelled images and others
    pair = FEATURES[index].repeat(2, 1, 1) + 0.1 * torch.randn(2, 12, 6)
    step = method.step(pair.requires_grad_(), LABELS[index], 0, index)
    assert method.weights()[brick] == 0.5
    assert step.selected[brick] > 0
    assert torch.isfinite(step.loss)
    (by_pair,) = torch.autograd.grad(step.terms[brick], pair, retain_graph=True)
    assert torch.isfinite(by_pair).all()
    assert (by_pair != 0).any()
    step.loss.backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in method.parameters())


@pytest.mark.parametrize("base", BASES)
def test_the_known_head_is_learned_and_starts_at_the_labelled_images(base: str) -> None:
    method = built(f"{base}:known_head")
    method.start(FEATURES.numpy(), LABELS.numpy(), seed=0)
    weight = dict(method.named_parameters())["bricks.known_head.weight"]
    assert weight.shape == (3, 6 if base == "legogcd" else 4)
    method.before_epoch(0, lambda: iter(FEATURES.split(16)), LABELS)
    units = torch.nn.functional.normalize(method.seen(FEATURES), dim=-1)
    means = torch.stack([units[known == LABELS].mean(dim=0) for known in range(3)])
    cosines = torch.nn.functional.cosine_similarity(weight, means)
    torch.testing.assert_close(cosines, torch.ones(3))
    started = weight.detach().clone()
    epoch_of(method, 1, torch.optim.SGD(method.parameters(), lr=0.1))
    assert not weight.equal(started)


@pytest.mark.parametrize("name", EVERY)
def test_a_resumed_method_looks_again_and_goes_on_exactly(name: str) -> None:
    unbroken, resumed = built(name), built(name)
    unbroken.start(FEATURES.numpy(), LABELS.numpy(), seed=0)
    epoch_of(unbroken, 0, torch.optim.SGD(unbroken.parameters(), lr=0.1))
    resumed.load_state_dict(unbroken.state_dict())
    assert epoch_of(resumed, 1) == epoch_of(unbroken, 1)


def test_all_of_them_together_from_photos_to_predictions(run_cli, pictures, tiny_vit, tmp_path) -> None:
    run, options = tmp_path / "run", ["--labels", "folders", "--known", "blue,green", "--image-size", 32]
    options += ["--backbone", tiny_vit, "--cache", tmp_path / "cache", "--epochs", 2, "--threads", 1, "--out", run]
    done = run_cli("discover", pictures, "--method", f"legogcd+:{','.join(NAMES)}", *options, "--set", "batch_size=8")
    assert done.exit_code == 0, done.stderr
    assert all(name in (run / "metrics.jsonl").read_text() for name in NAMES)
    done = run_cli("predict", run, pictures, "--out", tmp_path / "predicted.csv")  # the saved model has the known head
    assert done.exit_code == 0, done.stderr
