import math
from dataclasses import replace

import pytest
import torch
from brick_samples import SHAPES, certain_of, random_views
from hypothesis import given, settings
from hypothesis import strategies as st

from legogcd.bricks import ConsensusDistillation, SelfDistillation


def softmax(values):
    e = [math.exp(value) for value in values]
    return [value / sum(e) for value in e]


def slow_consensus(logits, teacher_temperature, disagreement_weight):
    total = 0.0
    for first, second in zip(*logits.tolist(), strict=True):
        p, other = softmax([z / 0.1 for z in first]), softmax([z / 0.1 for z in second])
        powers = [((a + b) / 2) ** (0.1 / teacher_temperature) for a, b in zip(p, other, strict=True)]
        target = [power / sum(powers) for power in powers]
        weight = 1.0 if p.index(max(p)) == other.index(max(other)) else disagreement_weight
        for prediction in (p, other):
            total -= weight * sum(q * math.log(a) for q, a in zip(target, prediction, strict=True))
    return total / logits[..., 0].numel()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("epoch", "teacher"), [(0, 0.07), (29, 0.04)])
@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_matches_a_double_loop(shape, epoch, teacher, weight):
    views = random_views(8, *shape, epoch=epoch)
    value = ConsensusDistillation(disagreement_weight=weight)(views).item()
    assert value == pytest.approx(slow_consensus(views.logits, teacher, weight), abs=1e-11)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), images=st.integers(1, 8), epoch=st.integers(0, 40))
def test_views_that_are_the_same_make_it_self_distillation(seed, images, epoch):
    views = random_views(seed, images, epoch=epoch)
    same = replace(views, logits=views.logits[:1].repeat(2, 1, 1))
    value = ConsensusDistillation(disagreement_weight=0.0)(same)
    torch.testing.assert_close(value, SelfDistillation()(same))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), images=st.integers(1, 8))
def test_with_full_weights_it_is_distillation_from_the_averaged_teacher(seed, images):
    views = random_views(seed, images, epoch=50)
    log_p = (views.logits / 0.1).log_softmax(-1)
    sharpened = log_p.exp().mean(0) ** 2.5
    teacher = sharpened / sharpened.sum(-1, keepdim=True)
    expected = torch.stack([-(teacher * view).sum(-1).mean() for view in log_p]).mean()
    torch.testing.assert_close(ConsensusDistillation(disagreement_weight=1.0)(views), expected)


def test_disputed_images_move_less():
    views = replace(random_views(0), logits=certain_of(0, 1) / 1e5)  # each view leans to another class
    gradients = []
    for weight in (0.0, 0.25, 1.0):
        logits = views.logits.clone().requires_grad_()
        ConsensusDistillation(disagreement_weight=weight)(replace(views, logits=logits)).backward()
        gradients.append(logits.grad)
    assert (gradients[0] == 0).all()
    torch.testing.assert_close(gradients[1], gradients[2] / 4)
    assert gradients[2].abs().max() > 0


def test_the_gradient_reaches_the_student_only():
    views = random_views(6, images=3, epoch=40)
    logits = views.logits.requires_grad_()
    (gradient,) = torch.autograd.grad(ConsensusDistillation(disagreement_weight=1.0)(views), logits)
    with torch.no_grad():
        p = (logits / 0.1).softmax(-1)
        sharpened = p.mean(0) ** 2.5
        expected = (p - sharpened / sharpened.sum(-1, keepdim=True)) / 0.1 / 6
    torch.testing.assert_close(gradient, expected)


def test_disputed_images_take_part_if_they_have_a_weight():
    logits = certain_of(0, 0, images=3)
    logits[1, 2] = logits[1, 2].roll(1)
    views = replace(random_views(0, images=3), logits=logits)
    for weight, disputed in ((0.0, False), (0.1, True)):
        brick = ConsensusDistillation(disagreement_weight=weight)
        brick(views)
        assert brick.selected.tolist() == [[True, True, disputed]] * 2
