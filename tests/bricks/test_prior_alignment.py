import math
from dataclasses import replace

import pytest
import torch
from brick_samples import SHAPES, random_views, unlabelled
from hypothesis import given, settings
from hypothesis import strategies as st

from legogcd.bricks import MeanEntropy, PriorAlignment
from legogcd.errors import UserError


def softmax(values):
    e = [math.exp(value) for value in values]
    return [value / sum(e) for value in e]


def mean_row(rows):
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def slow_kl(views, prior):
    mean = mean_row([softmax([value / 0.1 for value in z]) for view in views.logits.tolist() for z in view])
    return sum(p * math.log(p / q) for p, q in zip(mean, prior, strict=True))


def slow_taken_for(views, temperature):
    rows = []
    for view in views.logits.tolist():
        for z, label in zip(view, views.labels.tolist(), strict=True):
            if label >= 0:
                rows.append([float(k == label) for k in range(len(z))])
            else:
                rows.append(softmax([value / temperature for value in z]))
    return mean_row(rows)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("uniform_share", [0.2, 0.7])
def test_three_steps_match_a_double_loop(shape, uniform_share):
    brick = PriorAlignment(uniform_share=uniform_share, momentum=0.6)
    k = shape[1]
    shares = [1 / k] * k
    for seed in range(3):
        views = random_views(seed, *shape)
        prior = [(1 - uniform_share) * m + uniform_share / k for m in shares]
        assert brick(views).item() == pytest.approx(slow_kl(views, prior), abs=1e-12)
        shares = [0.6 * m + 0.4 * new for m, new in zip(shares, slow_taken_for(views, 0.05), strict=True)]
    assert brick.shares.mean.tolist() == pytest.approx(shares, abs=1e-14)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), images=st.integers(1, 8), classes=st.integers(3, 9))
def test_a_uniform_prior_is_the_mean_entropy(seed, images, classes):
    steps = [random_views(seed + i, images, classes) for i in range(3)]
    brick = PriorAlignment(uniform_share=1.0, momentum=0.0)
    expected = [MeanEntropy()(step).item() for step in steps]
    assert [brick(step).item() for step in steps] == pytest.approx(expected, abs=1e-12)


def test_it_starts_as_the_mean_entropy():
    views = random_views(3)
    assert PriorAlignment(uniform_share=0.0)(views).item() == pytest.approx(MeanEntropy()(views).item(), abs=1e-13)


@pytest.mark.parametrize(("known_share", "labelled"), [(0.9, 0.1), (0.25, 0.3), (1.0, 0.05), (0.4, 0.8)])
def test_what_is_expected_is_counted_image_by_image(known_share, labelled):
    views = random_views(2, images=7, classes=6, n_known=2)
    brick = PriorAlignment(uniform_share=1.0)
    brick.expect(known_share, labelled)
    even = min(1.0, 2 * labelled)
    prior = [even / 6] * 6
    for label in views.labels.tolist():
        for k in range(6):
            unlabelled = known_share / 2 if k < 2 else (1 - known_share) / 4
            prior[k] += (1 - even) / 7 * (float(k == label) if label >= 0 else unlabelled)
    assert sum(prior) == pytest.approx(1)
    assert brick(views).item() == pytest.approx(slow_kl(views, prior), abs=1e-6)


def test_many_labels_leave_the_even_prior():
    views = random_views(4)
    brick = PriorAlignment()
    brick.expect(0.9, labelled=0.5)
    assert brick(views).item() == PriorAlignment()(views).item()


@pytest.mark.parametrize(("n_known", "classes"), [(0, 4), (4, 4)])
def test_only_known_or_only_new_classes_can_be_expected(n_known, classes):
    views = replace(unlabelled(random_views(1, classes=classes)), n_known=n_known)
    brick = PriorAlignment(uniform_share=1.0)
    brick.expect(float(n_known > 0), labelled=0.0)
    assert brick(views).item() == pytest.approx(MeanEntropy()(views).item(), abs=1e-12)


def test_expectations_are_shares():
    for expected in ({"known_share": 1.2, "labelled": 0.5}, {"known_share": 0.5, "labelled": -0.1}):
        with pytest.raises(UserError, match="give a number from 0 to 1"):
            PriorAlignment().expect(**expected)


def test_classes_that_have_been_found_as_often_cost_nothing():
    logits = 100 * torch.eye(5, dtype=torch.float64)[[0, 0, 0, 1, 1, 2]].repeat(2, 1, 1)
    views = replace(unlabelled(random_views(0)), logits=logits)
    brick = PriorAlignment(uniform_share=0.0, momentum=0.0)
    assert brick(views) > 0.5
    assert brick(views).item() == pytest.approx(0, abs=1e-12)


def test_labels_are_believed_before_predictions():
    views = replace(random_views(0), labels=torch.tensor([0, 0, 1, 1, 2, 2]))
    brick = PriorAlignment(momentum=0.0)
    brick(views)
    assert brick.shares.mean.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0, 0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_class_whose_share_is_nothing_stays_finite(dtype):
    brick = PriorAlignment(uniform_share=0.0).eval()
    brick.shares.mean = torch.tensor([1.0, 0.0, 1e-45, 0.0, 0.0], dtype=dtype)
    logits = random_views(0).logits.to(dtype).requires_grad_()
    value = brick(replace(random_views(0), logits=logits))
    value.backward()
    assert torch.isfinite(value)
    assert torch.isfinite(logits.grad).all()


def test_gradient():
    views = random_views(5, images=3)
    brick = PriorAlignment(momentum=0.5)
    brick(random_views(6))
    brick.eval()

    def term(logits):
        return brick(replace(views, logits=logits))

    assert torch.autograd.gradcheck(term, views.logits.requires_grad_())


def test_every_view_takes_part():
    brick = PriorAlignment()
    brick(random_views(0, images=3))
    assert brick.selected.tolist() == [[True] * 3] * 2


def test_what_is_expected_is_kept_with_the_state():
    told, other = PriorAlignment(), PriorAlignment()
    told.expect(0.9, labelled=0.1)
    other.load_state_dict(told.state_dict())
    assert other.expectation.mean.tolist() == pytest.approx([0.9, 0.2])
    for seed in range(3):
        assert other(random_views(seed)).item() == told(random_views(seed)).item()
    assert told.expectation.mean.tolist() == pytest.approx([0.9, 0.2])  # and never moves
