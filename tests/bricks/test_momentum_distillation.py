import copy
import math
from dataclasses import replace

import pytest
import torch
from block_samples import comparable_views
from torch.nn import functional as F

from legogcd.bricks import MomentumDistillation, SelfDistillation
from legogcd.errors import UserError


def views_with_prototypes(seed, classes=5, dimensions=8, **shape):
    views = comparable_views(seed, dimensions=dimensions, classes=classes, **shape)
    generator = torch.Generator().manual_seed(seed + 1)
    prototypes = torch.randn(classes, dimensions, generator=generator, dtype=torch.float64)
    logits = F.normalize(views.features, dim=-1) @ F.normalize(prototypes, dim=-1).T
    return replace(views, prototypes=prototypes, logits=logits)


def softmax(values):
    e = [math.exp(value) for value in values]
    return [value / sum(e) for value in e]


def slow_distillation(views, teacher, temperature):
    total = 0.0
    for i in range(len(views.labels)):
        for view in (0, 1):
            other = views.features[1 - view, i]
            cosines = [float(other @ row / other.norm() / row.norm()) for row in teacher]
            target = softmax([cosine / temperature for cosine in cosines])
            prediction = softmax((views.logits[view, i] / 0.1).tolist())
            total -= sum(q * math.log(p) for q, p in zip(target, prediction, strict=True))
    return total / (2 * len(views.labels))


@pytest.mark.parametrize("images", [1, 2, 6])
@pytest.mark.parametrize(("epoch", "temperature"), [(0, 0.07), (40, 0.04)])
def test_matches_a_double_loop_once_the_prototypes_have_moved(images, epoch, temperature):
    brick = MomentumDistillation(momentum=0.75)
    first, second = (views_with_prototypes(seed, images=images, epoch=epoch) for seed in (0, 7))
    brick(first)
    brick(second)
    expected = first.prototypes + 0.25 * (second.prototypes - first.prototypes)
    assert torch.allclose(brick.teacher.mean, expected, atol=1e-15)
    third = views_with_prototypes(11, images=images, epoch=epoch)
    assert brick(third).item() == pytest.approx(slow_distillation(third, expected, temperature), abs=1e-11)


def test_it_is_self_distillation_while_nothing_moves():
    views = views_with_prototypes(1)
    brick = MomentumDistillation()
    for _ in range(3):
        torch.testing.assert_close(brick(views), SelfDistillation()(views))


def test_gradients_reach_the_student_alone():
    views = views_with_prototypes(2, images=3)
    started = MomentumDistillation(momentum=0.5)
    started(views_with_prototypes(3, images=3))
    logits = views.logits.clone().requires_grad_()
    parts = [part.clone().requires_grad_() for part in (views.features, views.prototypes)]

    def term(logits):
        return copy.deepcopy(started)(replace(views, logits=logits, features=parts[0], prototypes=parts[1]))

    assert torch.autograd.gradcheck(term, logits)
    assert torch.autograd.grad(term(logits), parts, allow_unused=True) == (None, None)


def test_evaluation_leaves_the_teacher_where_it_is():
    brick = MomentumDistillation(momentum=0.5)
    brick(views_with_prototypes(0))
    before = brick.teacher.mean.clone()
    brick.eval()
    brick(views_with_prototypes(5))
    assert torch.equal(brick.teacher.mean, before)


def test_prototypes_are_asked_for():
    with pytest.raises(UserError, match=r"prototypes are missing; give prototypes as \[classes, dimensions\]"):
        MomentumDistillation()(comparable_views(0))
