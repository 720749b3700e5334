from dataclasses import replace

import pytest
import torch
from brick_samples import collected_around, comparable_views
from test_sup_con import slow_sup_con
from torch._subclasses.fake_tensor import FakeTensorMode

from legogcd.bricks import HierarchicalContrast, SupCon, TwoViews
from legogcd.errors import UserError


def after_a_look(views, **settings):
    brick = HierarchicalContrast(**settings)
    brick.look(collected_around(views))
    return brick


def slow_hierarchical_contrast(views, groups, temperature):
    total = weights = 0.0
    for level, of_all in enumerate(groups.tolist()):
        of_batch = [of_all[place] for place in views.index.tolist()]
        total += slow_sup_con(views.projections.numpy(), of_batch, temperature) / 2**level
        weights += 1 / 2**level
    return total / weights


@pytest.mark.parametrize("images", [1, 2, 7])
@pytest.mark.parametrize("levels", [1, 2, 4])
@pytest.mark.parametrize("temperature", [0.07, 0.5])
def test_matches_a_double_loop(images, levels, temperature):
    views = comparable_views(3, images)
    brick = after_a_look(views, contrast_temperature=temperature, levels=levels)
    assert brick.groups.shape == (levels, 10 * images)
    expected = slow_hierarchical_contrast(views, brick.groups, temperature)
    assert brick(views).item() == pytest.approx(expected, abs=1e-11)


def test_one_level_of_labels_is_the_supervised_contrast():
    views = replace(comparable_views(1), labels=torch.tensor([0, 1, 2, 0, 1, 0]))
    brick = HierarchicalContrast(levels=1)
    collected = collected_around(views)
    brick.look(replace(collected, groups=lambda levels: collected.labels[None]))
    torch.testing.assert_close(brick(views), SupCon(0.07)(views))


def test_a_single_image_costs_nothing_and_moves_nothing():
    views = comparable_views(0, images=1)
    projections = views.projections.requires_grad_()
    value = after_a_look(views)(views)
    value.backward()
    assert value == 0
    assert (projections.grad == 0).all()


def test_no_value_is_asked_of_the_device():
    with FakeTensorMode():  # tensors without values: reading one raises
        brick = HierarchicalContrast()
        brick.groups = torch.zeros(3, 40, dtype=torch.long)
        projections, logits, index = torch.randn(2, 4, 8), torch.randn(2, 4, 5), torch.arange(4)
        assert brick(TwoViews(projections, logits, index, n_known=3, epoch=0, index=index)).shape == ()


def test_a_step_before_any_look_or_without_places_is_refused():
    views = comparable_views(0)
    with pytest.raises(UserError, match="has no groups yet; let it look at the collection before the epoch"):
        HierarchicalContrast()(views)
    with pytest.raises(UserError, match="index is missing; to tell the images' groups give their places"):
        after_a_look(views)(replace(views, index=None))
