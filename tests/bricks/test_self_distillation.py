import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from brick_samples import SHAPES, random_views

from legogcd.bricks import SelfDistillation


def softmax(values):
    e = [math.exp(value) for value in values]
    return [value / sum(e) for value in e]


def slow_distillation(logits, student_temperature, teacher_temperature):
    losses = []
    for student, teacher in ((0, 1), (1, 0)):
        for s, t in zip(logits[student].tolist(), logits[teacher].tolist(), strict=True):
            p = softmax([value / student_temperature for value in s])
            q = softmax([value / teacher_temperature for value in t])
            losses.append(-sum(b * math.log(a) for a, b in zip(p, q, strict=True)))
    return sum(losses) / len(losses)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("epoch", "teacher"), [(0, 0.07), (29, 0.04), (120, 0.04)])
def test_matches_a_double_loop(shape, epoch, teacher):
    views = random_views(8, *shape, epoch=epoch)
    assert SelfDistillation()(views).item() == pytest.approx(slow_distillation(views.logits, 0.1, teacher), abs=1e-11)


def test_uniform_views_cost_log_k():
    views = replace(random_views(0), logits=torch.zeros(2, 6, 5, dtype=torch.float64))
    assert SelfDistillation()(views).item() == pytest.approx(math.log(5), abs=1e-14)


def test_the_gradient_reaches_the_student_only():
    views = random_views(6, images=3, epoch=40)
    logits = views.logits.requires_grad_()
    (gradient,) = torch.autograd.grad(SelfDistillation()(views), logits)
    student, teacher = (
        np.array([[softmax(z / t) for z in view] for view in logits.detach().numpy()]) for t in (0.1, 0.04)
    )
    expected = (student - teacher[::-1]) / 0.1 / 6
    np.testing.assert_allclose(gradient.numpy(), expected, atol=1e-12)


@pytest.mark.parametrize(("epoch", "expected"), [(0, 0.07), (29, 0.04), (30, 0.04), (199, 0.04)])
@pytest.mark.parametrize("warmup", ["linear", "cosine"])
def test_teacher_temperature_at_the_ends(warmup, epoch, expected):
    assert SelfDistillation(warmup=warmup).teacher_temperature(epoch) == expected


def test_linear_warmup_is_thirty_even_steps():
    brick = SelfDistillation()
    temperatures = [brick.teacher_temperature(epoch) for epoch in range(30)]
    np.testing.assert_allclose(temperatures, np.linspace(0.07, 0.04, 30), atol=1e-15)


def test_cosine_warmup_is_slow_at_both_ends():
    brick = SelfDistillation(warmup_epochs=31, warmup="cosine")
    temperatures = [brick.teacher_temperature(epoch) for epoch in range(31)]
    expected = [0.04 + 0.015 * (1 + math.cos(math.pi * epoch / 30)) for epoch in range(31)]
    np.testing.assert_allclose(temperatures, expected, atol=1e-15)
    assert temperatures[15] == pytest.approx(0.055)
    assert temperatures[0] - temperatures[1] < 0.03 / 30 / 5


@pytest.mark.parametrize("warmup", ["linear", "cosine"])
@pytest.mark.parametrize(("epochs", "expected"), [(0, [0.04, 0.04]), (1, [0.07, 0.04]), (2, [0.07, 0.04])])
def test_short_warmups(warmup, epochs, expected):
    brick = SelfDistillation(warmup_epochs=epochs, warmup=warmup)
    assert [brick.teacher_temperature(epoch) for epoch in (0, 1)] == expected


def test_the_ends_are_exact_whatever_they_are():
    brick = SelfDistillation(teacher_temperatures=(0.9, 0.04), warmup_epochs=8)
    assert (brick.teacher_temperature(0), brick.teacher_temperature(7)) == (0.9, 0.04)


def test_every_view_takes_part():
    brick = SelfDistillation()
    brick(random_views(0, images=3))
    assert brick.selected.tolist() == [[True] * 3] * 2
