import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from brick_samples import SHAPES, random_views

from legogcd.bricks import MeanEntropy


def slow_mean_entropy(logits, temperature):
    distributions = []
    for view in logits.numpy():
        for z in view:
            e = np.exp(z / temperature)
            distributions.append(e / e.sum())
    mean = sum(distributions) / len(distributions)
    entropy = -sum(p * math.log(p) for p in mean)
    return math.log(len(mean)) - entropy


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", [0, 1])
def test_matches_a_double_loop(shape, seed):
    views = random_views(seed, *shape)
    assert MeanEntropy()(views).item() == pytest.approx(slow_mean_entropy(views.logits, 0.1), abs=1e-12)


def test_uniform_logits_cost_nothing():
    views = replace(random_views(0), logits=torch.full((2, 6, 5), 0.3, dtype=torch.float64))
    assert MeanEntropy()(views).item() == pytest.approx(0, abs=1e-14)


def test_sure_but_even_use_of_the_classes_costs_nothing():
    logits = 100 * torch.eye(5, dtype=torch.float64).repeat(2, 1, 1)
    assert MeanEntropy()(replace(random_views(0, 5), logits=logits)).item() == pytest.approx(0, abs=1e-14)


def test_one_class_for_all_costs_log_k():
    logits = torch.zeros(2, 6, 5, dtype=torch.float64)
    logits[..., 1] = 1e4
    assert MeanEntropy()(replace(random_views(0), logits=logits)).item() == pytest.approx(math.log(5), abs=1e-14)


def test_gradient():
    views = random_views(5, images=3)

    def term(logits):
        return MeanEntropy()(replace(views, logits=logits))

    assert torch.autograd.gradcheck(term, views.logits.requires_grad_())


def test_every_view_takes_part():
    brick = MeanEntropy()
    brick(random_views(0, images=3))
    assert brick.selected.tolist() == [[True] * 3] * 2
