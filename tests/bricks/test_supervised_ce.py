import math
from dataclasses import replace

import pytest
import torch
from brick_samples import SHAPES, random_views

from legogcd.bricks import SupervisedCE


def slow_cross_entropy(logits, labels, temperature):
    losses = []
    for view in logits.tolist():
        for z, label in zip(view, labels.tolist(), strict=True):
            if label >= 0:
                e = [math.exp(value / temperature) for value in z]
                losses.append(-math.log(e[label] / sum(e)))
    return sum(losses) / len(losses) if losses else 0.0


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_matches_a_double_loop(shape, seed):
    views = random_views(seed, *shape)
    expected = slow_cross_entropy(views.logits, views.labels, 0.1)
    assert SupervisedCE()(views).item() == pytest.approx(expected, abs=1e-12)


def test_uniform_logits_cost_log_k():
    views = replace(random_views(0), logits=torch.full((2, 6, 5), 0.3), labels=torch.tensor([0, 1, 2, -1, 0, -1]))
    assert SupervisedCE()(views).item() == pytest.approx(math.log(5), abs=1e-6)


def test_the_mean_is_over_labelled_views_only():
    views = replace(random_views(4, images=4), labels=torch.tensor([0, -1, -1, 2]))
    alone = replace(views, logits=views.logits[:, [0, 3]], labels=views.labels[[0, 3]])
    assert SupervisedCE()(views).item() == pytest.approx(SupervisedCE()(alone).item(), abs=1e-14)


def test_gradient():
    views = replace(random_views(5, images=4), labels=torch.tensor([0, 1, -1, 0]))

    def term(logits):
        return SupervisedCE()(replace(views, logits=logits))

    assert torch.autograd.gradcheck(term, views.logits.requires_grad_())


def test_accepts_small_integer_labels():
    views = replace(random_views(5, images=3), labels=torch.tensor([0, -1, 2]))
    assert SupervisedCE()(replace(views, labels=views.labels.to(torch.int32))) == SupervisedCE()(views)


def test_labelled_views_take_part():
    brick = SupervisedCE()
    brick(replace(random_views(0, images=3), labels=torch.tensor([-1, 0, 2])))
    assert brick.selected.tolist() == [[False, True, True]] * 2
