"""Batches at the edge: every term and every gradient stays finite, and is zero where nothing takes part."""

from dataclasses import replace

import pytest
import torch
from brick_samples import BRICKS, random_views, unlabelled, value_and_gradients

from legogcd.bricks import LocalEntropy

LOGIT_BRICKS = [name for name in BRICKS if name not in ("InfoNCE", "SupCon")]
LOCAL_ENTROPIES = [name for name in BRICKS if name.startswith("LocalEntropy")]


def saturated():
    views = random_views(0)
    return replace(views, logits=torch.where(views.logits > 0.3, 1e4, -1e4).double())


def disagreeing():
    views = random_views(0, classes=3)
    logits = torch.full_like(views.logits, -1e4)
    logits[0, :, 0] = logits[1, :, 1] = 1e4  # each view is certain of what the other excludes
    return replace(views, logits=logits)


def with_projections(projections):
    return replace(random_views(0), projections=projections.double(), labels=torch.tensor([0, 0, 1, -1, 2, -1]))


def one_empty_projection():
    projections = random_views(0).projections
    projections[0, 0] = 0
    projections[1, 3] = 0
    return with_projections(projections)


BATCHES = {
    "ordinary": random_views(0),
    "no labelled image": unlabelled(random_views(0)),
    "all labelled": replace(random_views(0), labels=torch.tensor([0, 1, 2, 0, 1, 2])),
    "all labelled alike": replace(random_views(0), labels=torch.zeros(6, dtype=torch.long)),
    "no known class": replace(unlabelled(random_views(0)), n_known=0),
    "no new class": replace(random_views(0), n_known=5),
    "one unlabelled image": unlabelled(random_views(0, images=1)),
    "one labelled image": replace(random_views(0, images=1), labels=torch.tensor([1])),
    "one class": random_views(1, classes=1, n_known=1),
    "one image of one class": unlabelled(random_views(1, images=1, classes=1, n_known=1)),
    "equal logits": replace(unlabelled(random_views(0)), logits=torch.zeros(2, 6, 5, dtype=torch.float64)),
    "saturated logits": saturated(),
    "saturated unlabelled": unlabelled(saturated()),
    "certain views that disagree": disagreeing(),
    "certain unlabelled views that disagree": unlabelled(disagreeing()),
    "zero projections": with_projections(torch.zeros(2, 6, 4)),
    "one zero projection": one_empty_projection(),
    "equal projections": with_projections(torch.ones(2, 6, 4)),
    "tiny projections": with_projections(torch.full((2, 6, 4), 1e-30)),
    "huge projections": with_projections(random_views(0).projections * 1e30),
}


def within_float16(views):
    """Values whose gradients float16 can hold: a divergence's grows with the logits, beyond 65504 for 1e4."""
    return replace(views, projections=views.projections.clamp(-6e4, 6e4), logits=views.logits.clamp(-1e3, 1e3))


def cast(views, dtype):
    return replace(views, projections=views.projections.to(dtype), logits=views.logits.to(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])  # what is kept, and the narrowest range there is
@pytest.mark.parametrize("batch", BATCHES)
def test_every_brick_stays_finite(batch, dtype):
    views = cast(within_float16(BATCHES[batch]) if dtype == torch.float16 else BATCHES[batch], dtype)
    for name, build in BRICKS.items():
        brick = build()
        for step in ("first step", "second step"):  # a running mean has its say in the second
            outcome = value_and_gradients(brick, views)
            assert all(torch.isfinite(part).all() for part in outcome), f"{name}, {step}"
            assert outcome[0].shape == (), name
            assert brick.selected.shape == views.logits.shape[:2], name


@pytest.mark.parametrize(
    ("name", "batch"),
    [
        *(("SupCon", batch) for batch in ("no labelled image", "one unlabelled image")),
        *(("SupervisedCE", batch) for batch in ("no labelled image", "one unlabelled image")),
        *((name, batch) for name in LOCAL_ENTROPIES for batch in ("all labelled", "no known class", "equal logits")),
        *((name, batch) for name in LOGIT_BRICKS for batch in ("one class", "one image of one class")),
        *(("InfoNCE", batch) for batch in ("one unlabelled image", "one labelled image")),
        ("SupCon", "one labelled image"),  # its two views have nobody to be told from
    ],
)
def test_what_takes_no_part_costs_nothing_and_moves_nothing(name, batch):
    value, by_projections, by_logits = value_and_gradients(BRICKS[name](), BATCHES[batch])
    assert value == 0
    assert (by_projections == 0).all()
    assert (by_logits == 0).all()


@pytest.mark.parametrize("name", ["SupCon", "SupervisedCE", *LOCAL_ENTROPIES])
def test_a_term_without_views_can_still_be_propagated_alone(name):
    views = BATCHES["all labelled" if name in LOCAL_ENTROPIES else "no labelled image"]
    projections, logits = views.projections.clone().requires_grad_(), views.logits.clone().requires_grad_()
    brick = BRICKS[name]()
    brick(replace(views, projections=projections, logits=logits)).backward()
    gradient = projections.grad if name == "SupCon" else logits.grad
    assert (gradient == 0).all()
    assert not brick.selected.any()


@pytest.mark.parametrize("margin", ["paper", "released"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("batch", ["no labelled image", "saturated unlabelled"])
def test_a_mean_prediction_that_underflowed(margin, dtype, batch):
    brick = LocalEntropy(0.1, margin=margin)
    brick.mean_prediction = torch.tensor([1.0, 0.0, 1e-45, 0.0, 0.0], dtype=dtype)
    for _ in range(2):
        value, _, by_logits = value_and_gradients(brick, cast(BATCHES[batch], dtype))
        assert torch.isfinite(value)
        assert torch.isfinite(by_logits).all()
    assert brick.selected.any()


def test_a_zero_projection_does_not_explode():
    for name in ("InfoNCE", "SupCon"):
        _, by_projections, _ = value_and_gradients(BRICKS[name](), BATCHES["one zero projection"])
        assert by_projections.abs().max() < 100


@pytest.mark.parametrize("name", ["InfoNCE", "SupCon"])
def test_huge_float32_projections_keep_their_direction(name):
    views = cast(random_views(3), torch.float32)
    huge = replace(views, projections=views.projections * 1e30)
    torch.testing.assert_close(BRICKS[name]()(huge), BRICKS[name]()(views))


@pytest.mark.parametrize("name", ["InfoNCE", "SupCon"])
def test_projections_too_short_for_a_direction_count_as_zero(name):
    views = cast(random_views(3), torch.float32)
    value, by_projections, _ = value_and_gradients(
        BRICKS[name](), replace(views, projections=views.projections * 1e-40)
    )
    assert value == BRICKS[name]()(replace(views, projections=torch.zeros_like(views.projections)))
    assert by_projections.abs().max() < 100
