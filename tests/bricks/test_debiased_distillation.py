import math
from dataclasses import replace

import pytest
import torch
from block_samples import SHAPES, random_views, unlabelled
from hypothesis import given, settings
from hypothesis import strategies as st

from legogcd.bricks import DebiasedDistillation, SelfDistillation


def softmax(values):
    e = [math.exp(value) for value in values]
    return [value / sum(e) for value in e]


def slow_level(usage, n_known, by):
    if by == "class":
        return usage
    groups = [usage[:n_known], usage[n_known:]]
    return [sum(group) / len(group) for group in groups for _ in group]


def slow_debiased(views, level, strength, teacher_temperature):
    losses = []
    for student, teacher in ((0, 1), (1, 0)):
        pairs = zip(views.logits[student].tolist(), views.logits[teacher].tolist(), views.labels.tolist(), strict=True)
        for s, t, label in pairs:
            p = softmax([z / 0.1 for z in s])
            by = strength if label == -1 else 0.0
            q = softmax([z / teacher_temperature - by * math.log(share) for z, share in zip(t, level, strict=True)])
            losses.append(-sum(b * math.log(a) for a, b in zip(p, q, strict=True)))
    return sum(losses) / len(losses)


def slow_usage(views, usage, momentum):
    rows = [
        softmax([value / 0.1 for value in z])
        for view in views.logits.tolist()
        for z, label in zip(view, views.labels.tolist(), strict=True)
        if label == -1
    ]
    if not rows:
        return usage
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    return [momentum * old + (1 - momentum) * new for old, new in zip(usage, means, strict=True)]


@pytest.mark.parametrize("by", ["group", "class"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("epoch", "teacher"), [(0, 0.07), (29, 0.04)])
def test_four_steps_match_a_double_loop(by, shape, epoch, teacher):
    brick = DebiasedDistillation(by=by, strength=0.8, momentum=0.6)
    usage = [1 / shape[1]] * shape[1]
    for seed in range(4):
        views = random_views(seed, *shape, epoch=epoch)
        expected = slow_debiased(views, slow_level(usage, views.n_known, by), 0.8, teacher)
        assert brick(views).item() == pytest.approx(expected, abs=1e-11)
        usage = slow_usage(views, usage, 0.6)
    assert brick.usage.mean.tolist() == pytest.approx(usage, abs=1e-14)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), images=st.integers(1, 8), epoch=st.integers(0, 40))
@pytest.mark.parametrize("by", ["group", "class"])
def test_without_strength_it_is_self_distillation(by, seed, images, epoch):
    brick = DebiasedDistillation(by=by, strength=0.0, momentum=0.0)
    for views in (random_views(seed + i, images, epoch=epoch) for i in range(3)):
        torch.testing.assert_close(brick(views), SelfDistillation()(views))


def test_it_starts_as_self_distillation():
    views = random_views(0)
    torch.testing.assert_close(DebiasedDistillation(strength=2.0)(views), SelfDistillation()(views))


def biased_to_known(by):
    brick = DebiasedDistillation(by=by).eval()
    brick.usage.mean = torch.tensor([0.5, 0.2, 0.2, 0.09, 0.01], dtype=torch.float64)
    return brick


def gradient_of(brick, views):
    logits = views.logits.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(brick(replace(views, logits=logits)), logits)
    return gradient


@pytest.mark.parametrize("by", ["group", "class"])
def test_a_bias_towards_known_classes_is_answered_by_a_pull_to_new_ones(by):
    views = unlabelled(random_views(1))
    more = gradient_of(SelfDistillation(), views) - gradient_of(biased_to_known(by), views)  # what a descent adds
    assert (more[..., 3:].sum(-1) > 0).all()
    assert (more[..., :3].sum(-1) < 0).all()


def test_groups_leave_the_balance_within_a_group_alone():
    views = unlabelled(replace(random_views(1), logits=torch.zeros(2, 6, 5, dtype=torch.float64)))
    gradient = gradient_of(biased_to_known("group"), views)[0, 0]
    assert gradient[:3].tolist() == pytest.approx([gradient[0].item()] * 3, abs=1e-15)
    assert gradient[3:].tolist() == pytest.approx([gradient[3].item()] * 2, abs=1e-15)


def test_labelled_images_are_taught_as_ever():
    views = replace(random_views(1), labels=torch.zeros(6, dtype=torch.long))
    torch.testing.assert_close(biased_to_known("class")(views), SelfDistillation()(views))


def test_labelled_images_do_not_count_as_usage():
    views = random_views(1)
    brick = DebiasedDistillation(momentum=0.0)
    brick(views)
    expected = (views.logits / 0.1).softmax(-1)[:, ~views.labelled].mean(dim=(0, 1))
    torch.testing.assert_close(brick.usage.mean, expected)
    brick(replace(random_views(2), labels=torch.zeros(6, dtype=torch.long)))
    torch.testing.assert_close(brick.usage.mean, expected)


@pytest.mark.parametrize("n_known", [0, 5])
def test_a_single_group_has_no_bias(n_known):
    views = replace(unlabelled(random_views(1)), n_known=n_known)
    torch.testing.assert_close(biased_to_known("group")(views), SelfDistillation()(views))


def test_a_class_never_used_stays_finite():
    brick = biased_to_known("class")
    brick.usage.mean = torch.tensor([1.0, 0.0, 0.0, 1e-45, 0.0])
    views = unlabelled(random_views(0))
    views = replace(views, logits=views.logits.float().requires_grad_())
    value = brick(views)
    value.backward()
    assert torch.isfinite(value)
    assert torch.isfinite(views.logits.grad).all()


def test_the_gradient_reaches_the_student_only():
    views = unlabelled(random_views(6, images=3, epoch=40))
    brick = biased_to_known("class")
    p = (views.logits / 0.1).softmax(-1)
    q = (views.logits / 0.04 - 0.4 * brick.usage.mean.log()).softmax(-1)
    torch.testing.assert_close(gradient_of(brick, views), (p - q.flip(0)) / 0.1 / 6)


def test_every_view_takes_part():
    brick = DebiasedDistillation()
    brick(random_views(0, images=3))
    assert brick.selected.tolist() == [[True] * 3] * 2
