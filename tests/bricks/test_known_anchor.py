import math
from dataclasses import replace

import pytest
import torch
from block_samples import SHAPES, random_views, unlabelled
from hypothesis import given, settings
from hypothesis import strategies as st

from legogcd.bricks import KnownAnchor, SupervisedCE


def softmax(values):
    e = [math.exp(value) for value in values]
    return [value / sum(e) for value in e]


def one_hot(k, classes):
    return [float(j == k) for j in range(classes)]


def labelled_rows(views):
    for view in views.logits.tolist():
        for z, label in zip(view, views.labels.tolist(), strict=True):
            if label >= 0:
                yield z, label


def slow_anchor(views, references):
    losses = []
    for z, label in labelled_rows(views):
        p = softmax([value / 0.1 for value in z])
        losses.append(sum(r * math.log(r / a) for r, a in zip(references[label], p, strict=True) if r > 0))
    return sum(losses) / len(losses) if losses else 0.0


def slow_update(views, references, momentum, temperature):
    updated = []
    for c, reference in enumerate(references):
        rows = [softmax([value / temperature for value in z]) for z, label in labelled_rows(views) if label == c]
        if rows:
            means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
            reference = [momentum * old + (1 - momentum) * new for old, new in zip(reference, means, strict=True)]
        updated.append(reference)
    return updated


@pytest.mark.parametrize("shape", SHAPES)
def test_four_steps_match_a_double_loop(shape):
    _, classes, n_known, _ = shape
    brick = KnownAnchor(momentum=0.6)
    references = [one_hot(c, classes) for c in range(n_known)]
    for seed in range(4):
        views = random_views(seed, *shape)
        assert brick(views).item() == pytest.approx(slow_anchor(views, references), abs=1e-11)
        references = slow_update(views, references, 0.6, 0.05)
    for row, expected in zip(brick.references.mean.tolist(), references, strict=True):
        assert row == pytest.approx(expected, abs=1e-14)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), images=st.integers(1, 8))
def test_references_that_never_move_make_it_the_supervised_cross_entropy(seed, images):
    brick = KnownAnchor(momentum=1.0)
    for views in (random_views(seed + i, images) for i in range(3)):
        torch.testing.assert_close(brick(views), SupervisedCE()(views))


def test_a_class_predicted_as_ever_costs_nothing_and_a_drift_is_pulled_back():
    views = replace(random_views(0, images=1), labels=torch.tensor([1]))
    steady = replace(views, logits=views.logits[:1].repeat(2, 1, 1))
    brick = KnownAnchor(reference_temperature=0.1, momentum=0.0)
    brick(steady)
    brick.eval()
    assert brick(steady).item() == pytest.approx(0, abs=1e-13)
    drifted = steady.logits.clone()
    drifted[..., 4] += 0.3  # a new class takes over
    drifted.requires_grad_()
    brick(replace(steady, logits=drifted)).backward()
    assert (drifted.grad[..., 4] > 0).all()
    assert (drifted.grad[..., :4] < 0).all()


def test_references_stay_from_the_freezing_epoch_on():
    brick = KnownAnchor(momentum=0.5, freeze_epoch=2)
    held = []
    for epoch in range(4):
        brick(random_views(epoch, images=20, epoch=epoch))
        held.append(brick.references.mean)
    assert not held[0].equal(held[1])
    assert held[1].equal(held[2])
    assert held[2].equal(held[3])


def test_frozen_from_the_first_epoch_the_references_are_the_labels():
    brick = KnownAnchor(freeze_epoch=0)
    views = random_views(0)
    brick(views)
    torch.testing.assert_close(brick(views), SupervisedCE()(views))


def test_memory_is_bounded_by_the_classes():
    brick = KnownAnchor()
    for seed in range(3):
        brick(random_views(seed, images=200))
    assert [tuple(value.shape) for value in brick.state_dict().values()] == [(3, 5)]


def test_unlabelled_images_neither_count_nor_move():
    views = random_views(0)
    brick = KnownAnchor(momentum=0.5)
    brick(unlabelled(views))
    assert brick.references.mean.equal(torch.eye(3, 5, dtype=torch.float64))
    views.logits.requires_grad_()
    brick(views).backward()
    assert (views.logits.grad[:, ~views.labelled] == 0).all()
    assert (views.logits.grad[:, views.labelled] != 0).any(dim=-1).all()


def test_gradient():
    views = replace(random_views(5, images=4), labels=torch.tensor([0, 1, -1, 0]))
    brick = KnownAnchor(momentum=0.5)
    brick(random_views(6, images=20))
    brick.eval()

    def term(logits):
        return brick(replace(views, logits=logits))

    assert torch.autograd.gradcheck(term, views.logits.requires_grad_())


def test_labelled_views_take_part():
    brick = KnownAnchor()
    brick(replace(random_views(0, images=3), labels=torch.tensor([-1, 0, 2])))
    assert brick.selected.tolist() == [[False, True, True]] * 2
