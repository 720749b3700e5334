import math
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from brick_samples import SHAPES, certain_of, random_views

from legogcd.bricks.view_consistency import ViewConsistency, sigmoid_ramp
from legogcd.errors import UserError


def slow_consistency(logits, temperature):
    first, second = (logits / temperature).exp()
    total, cells = 0.0, 0
    for a, b in zip(first.tolist(), second.tolist(), strict=True):
        for p, q in zip(a, b, strict=True):
            total += (p / sum(a) - q / sum(b)) ** 2
            cells += 1
    return 2 * total / cells


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", [0, 1])
def test_matches_a_double_loop(shape, seed):
    views = random_views(seed, *shape)
    assert ViewConsistency()(views).item() == pytest.approx(slow_consistency(views.logits, 1.0), abs=1e-14)
    assert ViewConsistency(0.1)(views).item() == pytest.approx(slow_consistency(views.logits, 0.1), abs=1e-14)


def test_equal_views_cost_nothing_and_opposite_ones_four_over_k():
    views = random_views(0)
    assert ViewConsistency()(replace(views, logits=views.logits[:1].repeat(2, 1, 1))) == 0
    assert ViewConsistency()(replace(views, logits=certain_of(0, 1))).item() == pytest.approx(4 / 5)


def test_gradient_through_both_views():
    views = random_views(5, images=3)

    def term(logits):
        return ViewConsistency()(replace(views, logits=logits))

    assert torch.autograd.gradcheck(term, views.logits.requires_grad_())
    ViewConsistency()(views).backward()
    assert (views.logits.grad.abs().amax(dim=(1, 2)) > 0).all()


def test_every_view_takes_part():
    brick = ViewConsistency()
    brick(random_views(0, images=3))
    assert brick.selected.tolist() == [[True] * 3] * 2


def test_the_ramp_rises_from_almost_nothing_to_one_and_stays():
    weights = [sigmoid_ramp(epoch, 10) for epoch in range(13)]
    assert weights[0] == pytest.approx(math.exp(-5))
    assert weights[5] == pytest.approx(math.exp(-1.25))
    assert all(a < b for a, b in pairwise(weights[:11]))
    assert weights[10:] == [1.0, 1.0, 1.0]


def test_no_ramp_is_full_weight_from_the_start_and_nothing_comes_before_it():
    assert sigmoid_ramp(0, 0) == 1.0
    assert sigmoid_ramp(-3, 10) == sigmoid_ramp(0, 10)


def test_wrong_temperatures_are_refused():
    with pytest.raises(UserError, match="temperature is -1; give a number above 0"):
        ViewConsistency(temperature=-1)
