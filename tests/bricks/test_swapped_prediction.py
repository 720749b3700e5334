import math
from dataclasses import replace

import pytest
import torch
from brick_samples import SHAPES, random_views, unlabelled, value_and_gradients
from torch._subclasses.fake_tensor import FakeTensorMode

from legogcd.bricks import SupervisedCE, TwoViews
from legogcd.bricks.swapped_prediction import SwappedPrediction
from legogcd.errors import UserError


def slow_targets(logits, labels, epsilon, iterations):
    """One view's targets: Sinkhorn-Knopp over its unlabelled images alone, one-hot for the others."""
    classes = range(len(logits[0]))
    free = [i for i, label in enumerate(labels) if label < 0]
    q = {i: [math.exp(z / epsilon) for z in logits[i]] for i in free}
    for _ in range(iterations):
        columns = [sum(q[i][k] for i in free) for k in classes]
        q = {i: [q[i][k] / columns[k] for k in classes] for i in free}
        q = {i: [value / sum(row) for value in row] for i, row in q.items()}
    return [q[i] if label < 0 else [float(k == label) for k in classes] for i, label in enumerate(labels)]


def slow_swapped_prediction(views, temperature, epsilon, iterations):
    logits, labels = views.logits.tolist(), views.labels.tolist()
    losses = []
    for student, teacher in ((0, 1), (1, 0)):
        targets = slow_targets(logits[teacher], labels, epsilon, iterations)
        for z, target in zip(logits[student], targets, strict=True):
            total = sum(math.exp(value / temperature) for value in z)
            losses.append(-sum(q * (v / temperature - math.log(total)) for q, v in zip(target, z, strict=True)))
    return sum(losses) / len(losses)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("temperature", "epsilon", "iterations"), [(0.1, 0.05, 3), (0.3, 0.2, 1)])
def test_matches_an_obvious_loop(shape, seed, temperature, epsilon, iterations):
    views = random_views(seed, *shape)
    value = SwappedPrediction(temperature, epsilon, iterations)(views)
    expected = slow_swapped_prediction(views, temperature, epsilon, iterations)
    assert value.item() == pytest.approx(expected, abs=1e-11)


def test_the_gradient_reaches_the_prediction_only():
    views = replace(random_views(4, images=4), labels=torch.tensor([0, -1, -1, 2]))
    _, _, gradient = value_and_gradients(SwappedPrediction(), views)
    targets = torch.tensor([slow_targets(view, views.labels.tolist(), 0.05, 3) for view in views.logits.tolist()])
    predictions = torch.softmax(views.logits / 0.1, dim=-1)
    torch.testing.assert_close(gradient, (predictions - targets.flip(0)) / 0.1 / 8, atol=1e-6, rtol=1e-5)


def test_gradient_by_differences():
    views = replace(random_views(4, images=4), labels=torch.tensor([0, 1, 1, 2]))  # fixed targets

    def term(logits):
        return SwappedPrediction()(replace(views, logits=logits))

    assert torch.autograd.gradcheck(term, views.logits.requires_grad_())


def test_without_unlabelled_images_it_is_the_supervised_cross_entropy():
    views = replace(random_views(2), labels=torch.tensor([0, 1, 2, 0, 1, 2]))
    torch.testing.assert_close(SwappedPrediction()(views), SupervisedCE()(views))


def test_labelled_images_do_not_touch_the_targets_of_the_others():
    views = replace(random_views(3, images=5), labels=torch.tensor([0, -1, -1, 1, -1]))
    elsewhere = views.logits.clone()
    elsewhere[:, [0, 3]] = elsewhere[:, [0, 3]].flip(-1)
    _, _, here = value_and_gradients(SwappedPrediction(), views)
    _, _, there = value_and_gradients(SwappedPrediction(), replace(views, logits=elsewhere))
    torch.testing.assert_close(here[:, [1, 2, 4]], there[:, [1, 2, 4]])


def test_all_unlabelled_images_on_one_class_are_spread_over_all():
    """The trivial answer, one class for everyone, is not a target."""
    logits = torch.zeros(2, 6, 3, dtype=torch.float64)
    logits[..., 0] = 0.9
    logits[:, 0:2, 0] += 0.05
    logits[:, 2:4, 1] += 0.05
    logits[:, 4:6, 2] += 0.05
    views = replace(unlabelled(random_views(0, classes=3)), logits=logits)
    _, _, gradient = value_and_gradients(SwappedPrediction(), views)
    assert (gradient[:, 2:, 0] > 0).all()  # away from the first class
    assert (gradient[:, 2:4, 1] < 0).all()
    assert (gradient[:, 4:6, 2] < 0).all()


def test_a_single_unlabelled_image_has_a_uniform_target():
    views = unlabelled(random_views(1, images=1))
    expected = -torch.log_softmax(views.logits / 0.1, dim=-1).mean()
    torch.testing.assert_close(SwappedPrediction()(views), expected)


@pytest.mark.parametrize("labels", [[-1] * 6, [0, 1, 2, 0, 1, 2], [0, -1, 2, 0, 1, 2], [-1, -1, -1, -1, -1, 0]])
def test_any_share_of_labelled_images_is_finite(labels):
    for scale in (1.0, 1e4):
        views = random_views(0)
        views = replace(views, logits=views.logits * scale, labels=torch.tensor(labels))
        value, _, gradient = value_and_gradients(SwappedPrediction(), views)
        assert torch.isfinite(value)
        assert torch.isfinite(gradient).all()


def test_every_view_takes_part():
    brick = SwappedPrediction()
    brick(random_views(0, images=3))
    assert brick.selected.tolist() == [[True] * 3] * 2


def test_no_value_is_asked_of_the_device():
    with FakeTensorMode():  # tensors without values: reading one raises
        views = TwoViews(
            torch.randn(2, 4, 8), torch.randn(2, 4, 5), torch.zeros(4, dtype=torch.long), n_known=3, epoch=0
        )
        assert SwappedPrediction()(views).shape == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"temperature": 0}, "temperature is 0; give a number above 0"),
        ({"epsilon": -1}, "epsilon is -1; give a number above 0"),
        ({"iterations": 0}, "iterations is 0; give a whole number of 1 or more"),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(UserError, match=message):
        SwappedPrediction(**arguments)
