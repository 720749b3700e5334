from dataclasses import replace

import numpy as np
import pytest
import torch
from brick_samples import collected_around, comparable_views
from test_info_nce import slow_info_nce
from torch._subclasses.fake_tensor import FakeTensorMode

from legogcd.bricks import InfoNCE, MeanShiftContrast, TwoViews
from legogcd.errors import UserError


def after_a_look(views, **settings):
    brick = MeanShiftContrast(**settings)
    brick.look(collected_around(views))
    return brick


def slow_mean_shift(views, projections, shift, neighbors):
    """The views' projections [2, B, P] after the step."""
    kept = [row / np.linalg.norm(row) for row in projections.numpy()]
    moved = np.empty(views.projections.shape)
    for v, view in enumerate(views.projections.detach().numpy()):
        for i, place in enumerate(views.index.tolist()):
            u = view[i] / np.linalg.norm(view[i])
            others = sorted((row for row in range(len(kept)) if row != place), key=lambda row: -(kept[row] @ u))
            nearest = [kept[row] for row in others[:neighbors]]
            moved[v, i] = (1 - shift) * u + shift * sum(nearest) / len(nearest)
    return moved


@pytest.mark.parametrize("images", [1, 2, 6])
@pytest.mark.parametrize("shift", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("neighbors", [1, 8, 100])  # 100: more than there are
def test_matches_a_double_loop(images, shift, neighbors):
    views = comparable_views(3, images)
    brick = after_a_look(views, contrast_temperature=0.3, shift=shift, neighbors=neighbors)
    moved = slow_mean_shift(views, collected_around(views).projections, shift, neighbors)
    assert brick(views).item() == pytest.approx(slow_info_nce(moved, 0.3), abs=1e-11)


def test_an_image_is_not_its_own_neighbor():
    views = replace(comparable_views(0, images=2), index=torch.tensor([0, 1]))
    collected = collected_around(views)
    brick = MeanShiftContrast(shift=1.0, neighbors=1)
    brick.look(replace(collected, projections=views.projections[0]))  # each image, and one other: they change places
    expected = replace(views, projections=views.projections[0].flip(0).repeat(2, 1, 1))
    torch.testing.assert_close(brick(views), InfoNCE()(expected))


@pytest.mark.parametrize("seen", ["no look", "one image"])
def test_without_other_images_nothing_moves(seen):
    views = comparable_views(0)
    brick = MeanShiftContrast()
    if seen == "one image":
        brick.look(replace(collected_around(views), projections=torch.ones(1, 4)))
    torch.testing.assert_close(brick(replace(views, index=None)), InfoNCE()(views))


def test_no_gradient_reaches_what_is_kept():
    views = comparable_views(0)
    collected = collected_around(views)
    brick = MeanShiftContrast()
    brick.look(replace(collected, projections=collected.projections.requires_grad_()))
    brick(replace(views, projections=views.projections.requires_grad_())).backward()
    assert collected.projections.grad is None
    assert views.projections.grad.abs().max() > 0


@pytest.mark.parametrize(("images", "projection", "shift"), [(1, 1.0, 0.5), (6, 0.0, 0.5), (6, 1.0, 1.0)])
def test_lone_empty_and_wholly_moved_projections_stay_finite(images, projection, shift):
    views = comparable_views(0, images)
    projections = torch.full_like(views.projections, projection).requires_grad_()
    value = after_a_look(views, shift=shift)(replace(views, projections=projections))
    value.backward()
    assert torch.isfinite(value)
    assert projections.grad.abs().max() < 100
    assert value == 0 or images > 1


def test_no_value_is_asked_of_the_device():
    with FakeTensorMode():  # tensors without values: reading one raises
        brick = MeanShiftContrast()
        brick.kept = torch.randn(40, 8)
        projections, logits, index = torch.randn(2, 4, 8), torch.randn(2, 4, 5), torch.arange(4)
        assert brick(TwoViews(projections, logits, index, n_known=3, epoch=0, index=index)).shape == ()


def test_a_step_without_places_is_refused():
    views = comparable_views(0)
    with pytest.raises(UserError, match="index is missing; to find other images give the batch's places"):
        after_a_look(views)(replace(views, index=None))
