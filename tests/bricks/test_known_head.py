import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from brick_samples import collected_around, comparable_views, unlabelled
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode

from legogcd.bricks import KnownHead, TwoViews
from legogcd.errors import UserError


def sized_for(views, temperature=0.1):
    torch.manual_seed(0)
    brick = KnownHead(temperature)
    brick.sized(views.features.shape[-1], views.logits.shape[-1], views.n_known)
    return brick.double()


def log_softmax(values):
    return values - math.log(sum(math.exp(value) for value in values))


def slow_known_head(views, weight, temperature):
    supervised, taught = [], []
    for v in range(2):
        for i, label in enumerate(views.labels.tolist()):
            feature, logits = views.features[v, i].detach().numpy(), views.logits[v, i].detach().numpy()
            a = np.array([c @ feature / np.linalg.norm(c) / np.linalg.norm(feature) for c in weight.detach().numpy()])
            if label >= 0:
                supervised.append(-log_softmax(a / temperature)[label])
            elif logits.argmax() < views.n_known:
                target = np.exp(log_softmax(2 * a / temperature))
                taught.append(-target @ log_softmax(logits[: views.n_known] / temperature))
    return sum(sum(part) / len(part) for part in (supervised, taught) if part)


@pytest.mark.parametrize("images", [1, 2, 8])
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("temperature", [0.1, 0.5])
def test_matches_a_double_loop(images, seed, temperature):
    views = comparable_views(seed, images)
    for labels in (views.labels, torch.full((images,), -1), torch.arange(images) % 3):
        views = replace(views, labels=labels)
        brick = sized_for(views, temperature)
        expected = slow_known_head(views, brick.weight, temperature)
        assert brick(views).item() == pytest.approx(expected, abs=1e-11)


def test_gradient():
    views = replace(comparable_views(5, images=4), labels=torch.tensor([0, -1, 2, -1]))
    brick = sized_for(views, temperature=0.5)
    views.logits[:, 1, 0] = 2.0  # taken for known, by much

    def supervised(features, weight):
        return torch.func.functional_call(
            brick, {"weight": weight}, (replace(views, logits=mostly_new, features=features),)
        )

    def taught(logits):
        return brick(replace(views, logits=logits))

    mostly_new = views.logits.clone()
    mostly_new[..., -1] = 3.0
    weight = brick.weight.detach().requires_grad_()
    assert torch.autograd.gradcheck(supervised, (views.features.requires_grad_(), weight))
    assert torch.autograd.gradcheck(taught, views.logits.requires_grad_())


def test_nothing_is_learned_from_unlabelled_images_but_by_the_main_classifier():
    views = unlabelled(comparable_views(0))
    views = replace(views, features=views.features.requires_grad_(), logits=views.logits.requires_grad_())
    brick = sized_for(views)
    brick(views).backward()
    assert brick.selected.any()
    assert (brick.weight.grad == 0).all()
    assert (views.features.grad == 0).all()
    moved = (views.logits.grad != 0).any(dim=-1)
    assert moved.equal(brick.selected)
    assert (views.logits.grad[..., views.n_known :] == 0).all()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), images=st.integers(1, 8))
def test_the_order_of_images_and_of_the_two_views(seed, images):
    views = comparable_views(seed, images)
    brick = sized_for(views)
    order = torch.randperm(images, generator=torch.Generator().manual_seed(seed))
    features, logits = (tensor[:, order].flip(0) for tensor in (views.features, views.logits))
    shuffled = replace(views, features=features, logits=logits, labels=views.labels[order])
    torch.testing.assert_close(brick(shuffled), brick(views))


def test_labelled_views_and_those_taken_for_known_take_part():
    logits = torch.zeros(2, 3, 5, dtype=torch.float64)
    logits[0, :, 4] = logits[1, :, 1] = 1.0  # first views look new, second ones known
    views = replace(comparable_views(0, images=3), logits=logits, labels=torch.tensor([2, -1, -1]))
    brick = sized_for(views)
    brick(views)
    assert brick.selected.tolist() == [[True, False, False], [True, True, True]]


def test_it_starts_at_the_labelled_images_in_the_first_epoch_only():
    views = replace(comparable_views(0), labels=torch.tensor([0, 0, 2, -1, -1, -1]))  # class 1 has no image
    brick, collected = sized_for(views), collected_around(views)
    before = brick.weight.detach().clone()
    brick.look(replace(collected, epoch=1))
    assert brick.weight.equal(before)
    brick.look(collected)
    for known in range(3):
        own = [
            row / row.norm() for row, label in zip(collected.features, collected.labels, strict=True) if label == known
        ]
        mean = sum(own) / len(own) if own else None
        expected = before[known] if mean is None else mean / mean.norm() / math.sqrt(3)
        torch.testing.assert_close(brick.weight[known].detach(), expected)
    assert brick.weight.requires_grad


def test_it_starts_at_random_numbers_of_the_generator():
    views = comparable_views(0)
    again = [sized_for(views).weight for _ in range(2)]
    assert again[0].equal(again[1])
    assert again[0].shape == (3, 8)
    assert again[0].abs().max() <= 1 / math.sqrt(8)
    assert list(sized_for(views).state_dict()) == ["weight"]


@pytest.mark.parametrize("case", ["no known class", "all look new", "no direction", "saturated"])
def test_batches_at_the_edge_stay_finite(case):
    views = unlabelled(comparable_views(0))
    if case == "no known class":
        views = replace(views, n_known=0)
    elif case == "all look new":
        views.logits[..., -1] = 2.0
    elif case == "no direction":
        views = replace(views, features=torch.zeros_like(views.features), labels=torch.tensor([0, 0, 1, -1, -1, 2]))
    else:
        views = replace(views, logits=1e4 * views.logits)
    logits, features = views.logits.requires_grad_(), views.features.requires_grad_()
    brick = sized_for(views)
    brick.look(collected_around(views))
    value = brick(views)
    value.backward()
    gradients = [tensor.grad for tensor in (logits, features, brick.weight) if tensor.grad is not None]
    assert all(torch.isfinite(tensor).all() for tensor in [value.detach(), *gradients])
    if case in ("no known class", "all look new"):
        assert value == 0
        assert gradients
        assert all((gradient == 0).all() for gradient in gradients)
        assert not brick.selected.any()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_half_precision_and_autocast_are_computed_in_float32(dtype):
    views = comparable_views(0)
    brick = sized_for(views)
    half = replace(views, logits=views.logits.to(dtype), features=views.features.to(dtype))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value = brick(half)
    assert value.dtype == torch.float32
    exact = brick(replace(half, logits=half.logits.double(), features=half.features.double()))
    assert value.item() == pytest.approx(exact.item(), rel=1e-5)


def test_no_value_is_asked_of_the_device():
    with FakeTensorMode():  # tensors without values: reading one raises
        brick = KnownHead()
        brick.sized(8, 5, 3)
        features, logits, labels = torch.randn(2, 4, 8), torch.randn(2, 4, 5), torch.zeros(4, dtype=torch.long)
        assert brick(TwoViews(features, logits, labels, n_known=3, epoch=0, features=features)).shape == ()


def test_missing_features_and_a_missing_size_are_explained():
    views = comparable_views(0)
    with pytest.raises(UserError, match="features are missing; to tell known classes apart give features as"):
        sized_for(views)(replace(views, features=None))
    with pytest.raises(UserError, match="KnownHead has no weight yet; say how large it is by sized"):
        KnownHead()(views)
