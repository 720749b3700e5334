import math
from dataclasses import replace

import pytest
import torch
from brick_samples import SHAPES, random_views, unlabelled
from torch._subclasses.fake_tensor import FakeTensorMode

from legogcd.bricks import SupervisedCE
from legogcd.bricks.adaptive_margin_ce import AdaptiveMarginCE
from legogcd.errors import UserError


def unsure(uncertainty, **arguments):
    brick = AdaptiveMarginCE(**arguments)
    brick.uncertainty.fill_(uncertainty)
    return brick


def slow_margin_ce(views, scale, raised_by):
    losses = []
    for view in views.logits.tolist():
        for cosines, label in zip(view, views.labels.tolist(), strict=True):
            if label >= 0:
                e = [math.exp(scale * (c + raised_by * (k == label))) for k, c in enumerate(cosines)]
                losses.append(-math.log(e[label] / sum(e)))
    return sum(losses) / len(losses) if losses else 0.0


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("uncertainty", "raised_by"), [(0.0, 0.0), (0.25, 0.25), (0.5, 0.5), (0.875, 0.5)])
def test_matches_a_double_loop(shape, seed, uncertainty, raised_by):
    views = random_views(seed, *shape)
    expected = slow_margin_ce(views, 10, raised_by)
    assert unsure(uncertainty)(views).item() == pytest.approx(expected, abs=1e-12)


def test_without_uncertainty_it_is_plain_cross_entropy():
    views = random_views(1)
    assert AdaptiveMarginCE(scale=5)(views) == SupervisedCE(temperature=0.2)(views)


def test_the_less_sure_the_model_the_weaker_the_pull_of_a_label():
    pulls = []
    for uncertainty in (0.0, 0.1, 0.3, 0.5, 0.9):
        views = replace(random_views(2, images=1), labels=torch.tensor([1]))
        views.logits.requires_grad_()
        unsure(uncertainty)(views).backward()
        pulls.append(float(views.logits.grad[..., 1].abs().sum()))
    assert pulls[0] > pulls[1] > pulls[2] > pulls[3] == pulls[4] > 0


def test_the_margin_can_be_capped_elsewhere_or_left_out():
    views = random_views(0)
    assert unsure(0.9, largest_margin=0)(views) == AdaptiveMarginCE()(views)
    assert unsure(0.75, largest_margin=0.25)(views) == unsure(0.25)(views)


def test_no_labelled_image_costs_nothing_and_moves_nothing():
    views = unlabelled(random_views(0))
    views.logits.requires_grad_()
    brick = unsure(0.5)
    value = brick(views)
    value.backward()
    assert value == 0
    assert (views.logits.grad == 0).all()
    assert not brick.selected.any()


def test_gradient():
    views = replace(random_views(5, images=4), labels=torch.tensor([0, 1, -1, 0]))

    def term(logits):
        return unsure(0.25)(replace(views, logits=logits))

    assert torch.autograd.gradcheck(term, views.logits.requires_grad_())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_views_are_computed_in_float32(dtype):
    views = random_views(0)
    views = replace(views, logits=views.logits.to(dtype))
    value = unsure(0.3)(views)
    assert value.dtype == torch.float32
    exact = unsure(0.3)(replace(views, logits=views.logits.double()))
    assert value.item() == pytest.approx(exact.item(), rel=1e-5)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert unsure(0.3)(views) == value


def test_no_value_is_asked_of_the_device():
    views = random_views(0)
    with FakeTensorMode(allow_non_fake_inputs=True):
        logits = torch.randn(2, 6, 5)
        assert AdaptiveMarginCE()(replace(views, logits=logits, labels=torch.zeros(6, dtype=torch.long))).shape == ()


def test_the_uncertainty_is_saved_and_loaded():
    brick = AdaptiveMarginCE()
    brick.load_state_dict(unsure(0.25).state_dict())
    assert brick.uncertainty == 0.25
    assert list(brick.state_dict()) == ["uncertainty"]


def test_labelled_views_take_part():
    brick = AdaptiveMarginCE()
    brick(replace(random_views(0, images=3), labels=torch.tensor([-1, 0, 2])))
    assert brick.selected.tolist() == [[False, True, True]] * 2


@pytest.mark.parametrize("arguments", [{"scale": 0}, {"largest_margin": -0.5}])
def test_wrong_arguments_are_refused(arguments):
    with pytest.raises(UserError, match=next(iter(arguments))):
        AdaptiveMarginCE(**arguments)


def test_views_that_do_not_fit_the_labels_are_named():
    views = random_views(0)
    with pytest.raises(UserError, match=r"logits has shape \[2, 5, 5\] beside labels of shape \[6\]"):
        AdaptiveMarginCE()(replace(views, logits=views.logits[:, :5]))
