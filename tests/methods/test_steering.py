"""Steering takes from a gradient what its formula says, row by row, and leaves everything else as it is."""

from typing import NoReturn

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from legogcd.methods import build_method, method_entry
from legogcd.methods.parametric import Parametric
from legogcd.methods.steering import Steering
from legogcd.training.checkpoint import checkpoint_tensors, load_checkpoint

SMALL = {"projector_hidden": 8, "projector_out": 4, "start": "random"}
LABELS = torch.tensor([0, 1, 2, 0, -1, -1, -1, -1])


def built(name: str, **settings: object) -> Parametric:
    torch.manual_seed(0)
    recipe = method_entry(name).recipe().with_settings(SMALL | settings)
    method = build_method(name, dim=6, n_classes=5, n_known=3, recipe=recipe)
    assert isinstance(method, Parametric)
    return method


def spanning(columns: np.ndarray, strength: float = 1.0) -> Steering:
    """Steering with a given basis [D, r], in float64."""
    steering = Steering(*columns.shape, strength).double()
    steering.basis.copy_(torch.from_numpy(columns))
    return steering


def steered(steering: Steering, features: torch.Tensor, labels: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """What becomes of a gradient."""
    given = features.clone().requires_grad_()
    made = steering(given, labels)
    assert made.equal(features)
    made.backward(slope)
    assert given.grad is not None
    return given.grad


@pytest.mark.parametrize("strength", [0.3, 1.0])
def test_a_gradient_becomes_what_an_explicit_projection_makes_of_it(strength: float) -> None:
    random = np.random.default_rng(0)
    basis = np.linalg.qr(random.normal(size=(6, 3)))[0]
    features, slope = random.normal(size=(2, 2, 8, 6))
    found = steered(spanning(basis, strength), torch.from_numpy(features), LABELS, torch.from_numpy(slope))
    for view in range(2):
        for i, label in enumerate(LABELS):
            g, x = slope[view, i], features[view, i]
            if label >= 0:
                assert np.array_equal(found[view, i].numpy(), g)
                continue
            share = sum((u @ x) ** 2 for u in basis.T) / (x @ x)
            within = sum((u @ g) * u for u in basis.T)
            np.testing.assert_allclose(found[view, i].numpy(), g - strength * (1 - share) * within, rtol=1e-12)


def test_a_feature_outside_loses_exactly_what_is_inside_and_a_feature_inside_nothing() -> None:
    steering = spanning(np.eye(4)[:, :2])
    outside, inside = torch.tensor([0.0, 0, 3, 1]), torch.tensor([2.0, 1, 0, 0])
    slope = torch.tensor([1.0, 2, 3, 4], dtype=torch.float64).expand(2, 4)
    found = steered(steering, torch.stack([outside, inside]).double(), torch.tensor([-1, -1]), slope)
    assert found[0].tolist() == [0, 0, 3, 4]
    torch.testing.assert_close(found[1], slope[1])


def test_the_basis_spans_the_labelled_means_and_is_found_in_batches() -> None:
    random = np.random.default_rng(0)
    features = torch.from_numpy(random.normal(size=(40, 10)).astype(np.float32))
    labels = torch.from_numpy(random.integers(-1, 4, 40))
    steering = Steering(10, 4, strength=0.5)
    steering.find(features.split(7), labels)
    means = torch.stack([normalize(features[labels == k].double(), dim=-1).mean(0) for k in range(4)])
    axes = np.linalg.svd(means.numpy(), full_matrices=False)[2]
    torch.testing.assert_close(steering.basis @ steering.basis.T, torch.from_numpy(axes.T @ axes).float())
    torch.testing.assert_close(steering.basis.T @ steering.basis, torch.eye(4))


@pytest.mark.parametrize(
    ("rows", "labels", "n_known", "independent"),
    [
        ([[1, 0, 0, 0], [2, 0, 0, 0], [0, 5, 0, 0]], [0, 1, -1], 2, 1),  # two classes alike
        ([[1, 0, 0, 0], [0, 1, 0, 0], [0, 5, 0, 0]], [0, -1, -1], 3, 1),  # of two classes nothing is labelled
        ([[1, 0, 0, 0], [0, 1, 0, 0], [0, 5, 0, 0]], [-1, -1, -1], 2, 0),
        ([[0, 0, 0, 0], [0, 1, 0, 0], [0, 5, 0, 0]], [0, 1, -1], 2, 1),  # a feature of length 0
        (np.eye(4).tolist(), [0, 1, 2, 3], 6, 4),  # more classes than dimensions
        ([[1, 0, 0, 0]], [-1], 0, 0),
    ],
)
def test_columns_that_are_not_needed_are_zero(rows: list, labels: list, n_known: int, independent: int) -> None:
    steering = Steering(4, n_known, strength=1.0)
    steering.find([torch.tensor(rows, dtype=torch.float32)], torch.tensor(labels))
    assert steering.basis.shape == (4, min(n_known, 4))
    lengths = steering.basis.norm(dim=0)
    torch.testing.assert_close(lengths, torch.tensor([1.0] * independent + [0.0] * (len(lengths) - independent)))
    slope = torch.randn(len(rows), 4)
    found = steered(steering, torch.ones(len(rows), 4), torch.tensor(labels), slope)
    assert found.isfinite().all()


def test_nothing_is_steered_before_the_basis_is_found() -> None:
    slope = torch.randn(2, 8, 6)
    assert steered(Steering(6, 3, strength=1.0), torch.randn(2, 8, 6), LABELS, slope).equal(slope)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_stays_what_it_is_also_under_autocast(dtype: torch.dtype) -> None:
    steering = Steering(6, 3, strength=1.0)
    features = torch.randn(2, 8, 6).to(dtype)
    steering.find([features[0]], LABELS)
    slope = torch.randn(2, 8, 6).to(dtype)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = steered(steering, features, LABELS, slope)
    assert found.dtype == dtype
    assert found[:, :4].equal(slope[:, :4])
    exact = steered(steering, features.float(), LABELS, slope.float())
    torch.testing.assert_close(found.float(), exact, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("name", ["simgcd", "legogcd", "legogcd+"])
def test_a_step_has_the_same_loss_and_other_gradients_of_unlabelled_images_only(name: str) -> None:
    features, gradients, losses = torch.randn(2, 8, 6), [], []
    for strength in (0, 1):
        method = built(name, steering=strength)
        method.before_epoch(0, lambda: iter(features[0].split(3)), LABELS)
        given = features.clone().requires_grad_()
        step = method.step(given, LABELS, epoch=0, index=torch.arange(8))
        step.loss.backward()
        gradients.append(given.grad)
        losses.append(step.loss)
        assert all(p.grad.isfinite().all() for p in method.parameters())
    assert losses[0].equal(losses[1])
    plain, steered_ones = gradients
    assert plain[:, :4].equal(steered_ones[:, :4])
    assert steered_ones.isfinite().all()
    assert not torch.isclose(plain[:, 4:], steered_ones[:, 4:]).all(dim=-1).any()


@pytest.mark.parametrize("name", ["simgcd", "legogcd", "legogcd+"])
def test_off_it_leaves_no_trace(name: str) -> None:
    plain, other = built(name), built(name, steering=0.5)
    assert plain.steering is None
    assert other.state_dict().keys() - plain.state_dict().keys() == {"steering.basis"}
    assert all(tensor.equal(other.state_dict()[key]) for key, tensor in plain.state_dict().items())
    assert [*dict(plain.named_parameters())] == [*dict(other.named_parameters())]

    def never() -> NoReturn:
        raise AssertionError("nobody needs the features")

    plain.before_epoch(0, never, LABELS)
    other.before_epoch(1, never, LABELS)  # found before the first epoch only


def test_a_resumed_run_steers_along_the_same_basis() -> None:
    method, other = built("legogcd", steering=0.5), built("legogcd", steering=0.5)
    method.before_epoch(0, lambda: iter([torch.randn(8, 6)]), LABELS)
    tail = torch.nn.Linear(1, 1)
    optimizers = [torch.optim.SGD(each.parameters(), lr=0.1) for each in (method, other)]
    load_checkpoint(tail, other, optimizers[1], checkpoint_tensors(tail, method, optimizers[0]))
    assert other.steering.basis.abs().sum() > 0
    assert other.steering.basis.equal(method.steering.basis)
