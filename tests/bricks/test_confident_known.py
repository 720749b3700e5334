import math
from dataclasses import replace

import pytest
import torch
from brick_samples import SHAPES, random_views

from legogcd.bricks import confident_known
from legogcd.errors import UserError


def slow_mask(views, threshold, temperature):
    mask = []
    for view in views.logits.tolist():
        row = []
        for z, label in zip(view, views.labels.tolist(), strict=True):
            e = [math.exp(value / temperature) for value in z]
            row.append(label == -1 and max(e) / sum(e) >= threshold and e.index(max(e)) < views.n_known)
        mask.append(row)
    return mask


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("threshold", [0.3, 0.7, 0.95])
@pytest.mark.parametrize("temperature", [0.1, 0.5])
def test_matches_a_double_loop(shape, threshold, temperature):
    for seed in range(10):
        views = random_views(seed, *shape)
        expected = slow_mask(views, threshold, temperature)
        assert confident_known(views, threshold, temperature).tolist() == expected


def test_each_condition_excludes():
    sure_old, sure_new, unsure = [0.9, 0.0, 0.0], [0.0, 0.0, 0.9], [0.1, 0.0, 0.0]
    logits = torch.tensor([[sure_old, sure_new, unsure, sure_old]] * 2)
    views = replace(random_views(0, 4), logits=logits, labels=torch.tensor([-1, -1, -1, 0]), n_known=2)
    assert confident_known(views, 0.7).tolist() == [[True, False, False, False]] * 2


def test_the_threshold_itself_is_confident_enough():
    logits = torch.zeros(2, 1, 2, dtype=torch.float64)  # a confidence of exactly one half
    views = replace(random_views(0, 1), logits=logits, labels=torch.tensor([-1]), n_known=2)
    assert confident_known(views, 0.5).all()
    assert not confident_known(views, 0.5000001).any()
    assert confident_known(replace(views, logits=torch.tensor([[[1e4, 0.0]]] * 2)), 1.0).all()


def test_has_no_gradient():
    views = random_views(0)
    views.logits.requires_grad_()
    mask = confident_known(views, 0.5)
    assert mask.dtype == torch.bool
    assert not mask.requires_grad


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan"), "high"])
def test_a_threshold_that_is_no_fraction_is_refused(threshold):
    with pytest.raises(UserError, match=r"threshold is .*; give a number from 0 to 1"):
        confident_known(random_views(0), threshold)
