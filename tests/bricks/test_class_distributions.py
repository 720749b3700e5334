import math
from dataclasses import replace

import pytest
import torch
from brick_samples import SHAPES, certain_of, random_views
from hypothesis import given, settings
from hypothesis import strategies as st

from legogcd.bricks import ClassDistributions


def softmax(values, temperature):
    e = [math.exp(value / temperature) for value in values]
    return [value / sum(e) for value in e]


def slow_class_distributions(logits, temperature):
    def of_class(view, k):
        p = [softmax(row, temperature) for row in view]
        return [sum(row[k] * row[c] for row in p) / sum(row[k] for row in p) for c in range(len(p[0]))]

    first, second = logits.tolist()
    losses = []
    for k in range(logits.shape[-1]):
        together = sum(a * b for a, b in zip(of_class(first, k), of_class(second, k), strict=True))
        losses.append(-math.log(together))
    return sum(losses) / len(losses)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("temperature", [0.1, 0.5])
def test_matches_a_double_loop(shape, temperature):
    views = random_views(4, *shape)
    expected = slow_class_distributions(views.logits, temperature)
    assert ClassDistributions(temperature)(views).item() == pytest.approx(expected, abs=1e-11)


def test_gradient():
    views = random_views(5, images=3, classes=4)

    def term(logits):
        return ClassDistributions(0.5)(replace(views, logits=logits))

    assert torch.autograd.gradcheck(term, views.logits.requires_grad_())


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), order=st.permutations(range(5)))
def test_the_order_of_all_classes(seed, order):
    views = random_views(seed)
    renamed = replace(views, logits=views.logits[..., list(order)])
    torch.testing.assert_close(ClassDistributions()(renamed), ClassDistributions()(views))


def test_sure_views_of_every_class_are_the_best_there_is_whichever_images_they_show():
    logits = 20 * torch.eye(4, dtype=torch.float64)[[0, 1, 2, 3, 0]].repeat(2, 1, 1)
    views = replace(random_views(0, images=5, classes=4), logits=logits)
    swapped = replace(views, logits=torch.stack([logits[0], logits[1].flip(0)]))
    unsure = replace(views, logits=logits / 100)
    values = [ClassDistributions()(step).item() for step in (views, swapped, unsure)]
    assert values[:2] == pytest.approx([0, 0], abs=1e-12)
    assert values[2] > 0.1


def test_a_class_that_nobody_is_taken_for_weighs_as_much_as_any():
    logits = torch.zeros(2, 2, 3)
    logits[:, 0, 0] = logits[:, 1, 1] = 400.0  # at temperature 1 the third class is below float32's least number
    logits[:, 0, 2] = 0.5  # the first image is its nearest
    views = replace(random_views(0, images=2, classes=3), logits=logits.requires_grad_())
    value = ClassDistributions(temperature=1.0)(views)
    first = 1 / (1 + math.exp(-0.5))
    assert value.item() == pytest.approx(-math.log(first**2 + (1 - first) ** 2) / 3, rel=1e-5)
    value.backward()
    assert torch.isfinite(logits.grad).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_classes_with_nothing_in_common_end_at_the_least_number(dtype):
    views = replace(random_views(0), logits=certain_of(0, 1).to(dtype).requires_grad_())
    value = ClassDistributions()(views)
    assert value.item() == pytest.approx(-math.log(torch.finfo(dtype).tiny))
    value.backward()
    assert torch.isfinite(views.logits.grad).all()


def test_every_view_takes_part():
    brick = ClassDistributions()
    brick(random_views(0, images=3))
    assert brick.selected.tolist() == [[True] * 3] * 2
