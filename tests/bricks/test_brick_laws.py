"""What must not change a term: the order of images, of views, of classes; the projections' length and axes."""

from dataclasses import replace

import pytest
import torch
from brick_samples import BRICKS, random_views
from hypothesis import given, settings
from hypothesis import strategies as st

SEEDS = st.integers(0, 2**32 - 1)
IMAGES = st.integers(1, 8)
LAW = settings(max_examples=25, deadline=None)


def terms(make, steps):
    """A brick's value over consecutive steps, so that a running mean has its say."""
    brick = make()
    return torch.stack([brick(step) for step in steps])


def steps_of(seed, images):
    return [random_views(seed + i, images=images) for i in range(3)]


@pytest.mark.parametrize("name", BRICKS)
@LAW
@given(seed=SEEDS, images=IMAGES)
def test_the_order_of_images(name, seed, images):
    steps = steps_of(seed, images)
    order = torch.randperm(images, generator=torch.Generator().manual_seed(seed))
    shuffled = [
        replace(step, projections=step.projections[:, order], logits=step.logits[:, order], labels=step.labels[order])
        for step in steps
    ]
    torch.testing.assert_close(terms(BRICKS[name], shuffled), terms(BRICKS[name], steps))


@pytest.mark.parametrize("name", sorted(set(BRICKS) - {"DualViewKL paper", "DualViewKL released"}))
@LAW
@given(seed=SEEDS, images=IMAGES)
def test_the_order_of_the_two_views(name, seed, images):
    steps = steps_of(seed, images)
    swapped = [replace(step, projections=step.projections.flip(0), logits=step.logits.flip(0)) for step in steps]
    torch.testing.assert_close(terms(BRICKS[name], swapped), terms(BRICKS[name], steps))


@pytest.mark.parametrize("name", BRICKS)
@LAW
@given(seed=SEEDS, old=st.permutations(range(3)), new=st.permutations(range(3, 5)))
def test_the_order_of_classes_within_old_and_within_new(name, seed, old, new):
    steps = steps_of(seed, images=5)
    order = torch.tensor([*old, *new])
    renamed = [
        replace(
            step,
            logits=step.logits[..., order],
            labels=torch.where(step.labelled, order.argsort()[step.labels], -1),
        )
        for step in steps
    ]
    torch.testing.assert_close(terms(BRICKS[name], renamed), terms(BRICKS[name], steps))


@pytest.mark.parametrize("name", ["InfoNCE", "SupCon"])
@LAW
@given(seed=SEEDS, images=IMAGES, exponents=st.lists(st.integers(-9, 9), min_size=16, max_size=16))
def test_the_length_and_axes_of_projections(name, seed, images, exponents):
    views = random_views(seed, images=images)
    square = torch.randn(4, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    rotation, _ = torch.linalg.qr(square)
    lengths = 10.0 ** torch.tensor(exponents[: 2 * images], dtype=torch.float64).reshape(2, images, 1)
    moved = replace(views, projections=lengths * views.projections @ rotation)
    torch.testing.assert_close(BRICKS[name]()(moved), BRICKS[name]()(views))


@pytest.mark.parametrize("name", [name for name in BRICKS if name not in ("InfoNCE", "SupCon")])
@LAW
@given(seed=SEEDS, constant=st.floats(-5, 5))
def test_a_constant_added_to_an_image_s_logits(name, seed, constant):
    steps = steps_of(seed, images=4)
    raised = [replace(step, logits=step.logits + constant) for step in steps]
    torch.testing.assert_close(terms(BRICKS[name], raised), terms(BRICKS[name], steps))
