"""What the bricks have in common that contrast projections by what they saw of the whole collection."""

from dataclasses import replace

import pytest
import torch
from brick_samples import collected_around, comparable_views
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from legogcd.bricks import Brick, HierarchicalContrast, MeanShiftContrast, TwoViews

KINDS = pytest.mark.parametrize("kind", [HierarchicalContrast, MeanShiftContrast])


def after_a_look(kind: type[Brick], views: TwoViews, **settings: float) -> Brick:
    brick = kind(**settings)
    brick.look(collected_around(views))
    return brick


@pytest.mark.parametrize(
    ("kind", "images", "given_settings"),
    [(HierarchicalContrast, 4, {"contrast_temperature": 0.5}), (MeanShiftContrast, 3, {"shift": 0.3})],
)
def test_gradient(kind: type[Brick], images: int, given_settings: dict[str, float]) -> None:
    views = comparable_views(5, images)
    brick = after_a_look(kind, views, **given_settings)

    def term(projections: Tensor) -> Tensor:
        return brick(replace(views, projections=projections))

    assert torch.autograd.gradcheck(term, views.projections.requires_grad_())


@KINDS
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), images=st.integers(1, 8))
def test_the_order_of_images_and_of_the_two_views(kind: type[Brick], seed: int, images: int) -> None:
    views = comparable_views(seed, images)
    brick = after_a_look(kind, views)
    assert views.index is not None
    order = torch.randperm(images, generator=torch.Generator().manual_seed(seed))
    shuffled = replace(views, projections=views.projections[:, order].flip(0), index=views.index[order])
    torch.testing.assert_close(brick(replace(shuffled, labels=views.labels[order])), brick(views))


@KINDS
@pytest.mark.parametrize("labels", [[-1, -1, -1], [0, 1, 2]])
def test_labels_are_not_read_and_every_view_takes_part(kind: type[Brick], labels: list[int]) -> None:
    views = comparable_views(0, images=3)
    brick = after_a_look(kind, views)
    assert brick(replace(views, labels=torch.tensor(labels))) == brick(views)
    assert brick.selected.tolist() == [[True] * 3] * 2


@KINDS
def test_what_it_saw_is_not_saved_and_the_last_look_counts(kind: type[Brick]) -> None:
    views = comparable_views(2)
    brick = after_a_look(kind, views)
    first = brick(views)
    brick.look(collected_around(views, seed=1))
    assert brick(views) != first
    assert not brick.state_dict()
    assert not list(brick.parameters())


@KINDS
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_half_precision_and_autocast_are_computed_in_float32(kind: type[Brick], dtype: torch.dtype) -> None:
    views = comparable_views(0, images=40)  # so many that the eighth neighbor is hardly nearer than the ninth
    brick = after_a_look(kind, views)
    views = replace(views, projections=views.projections.to(dtype))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value = brick(views)
    assert value.dtype == torch.float32
    exact = brick(replace(views, projections=views.projections.double()))
    assert value.item() == pytest.approx(exact.item(), rel=1e-5)
