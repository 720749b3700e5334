import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from block_samples import comparable_views, unlabelled
from torch._subclasses.fake_tensor import FakeTensorMode

from legogcd.bricks import NeighborConsistency, SelfDistillation
from legogcd.errors import UserError


def softmax(z, temperature):
    e = np.exp(z / temperature)
    return e / e.sum()


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def slow_neighbors(view, other, i, names, neighbors, allowed):
    others = [j for j in range(len(names)) if names[j] != names[i] and allowed[j]]
    return sorted(others, key=lambda j: -cosine(view[i], other[j]))[:neighbors]


def slow_consistency(views, space, neighbors, names, among="unlabelled"):
    logits, compared = views.logits.numpy(), space.numpy()
    allowed = [label == -1 or among == "all" for label in views.labels.tolist()]
    losses = []
    for view, other in ((0, 1), (1, 0)):
        for i, label in enumerate(views.labels.tolist()):
            near = slow_neighbors(compared[view], compared[other], i, names, neighbors, allowed)
            if label == -1 and near:
                target = sum(softmax(logits[other][j], 0.05) for j in near) / len(near)
                losses.append(-(target * np.log(softmax(logits[view][i], 0.1))).sum())
    return sum(losses) / len(losses) if losses else 0.0


@pytest.mark.parametrize("images", [1, 2, 6, 9])
@pytest.mark.parametrize("neighbors", [1, 3, 20])
@pytest.mark.parametrize("among", ["unlabelled", "all"])
@pytest.mark.parametrize("space", ["features", "projections"])
def test_matches_a_double_loop(images, neighbors, among, space):
    for seed in range(3):
        views = comparable_views(seed, images)
        value = NeighborConsistency(neighbors, among, space)(views).item()
        expected = slow_consistency(views, getattr(views, space), neighbors, views.index.tolist(), among)
        assert value == pytest.approx(expected, abs=1e-12)


def test_a_copy_is_no_neighbor():
    views = unlabelled(comparable_views(0, images=5))
    copied = replace(views, index=torch.tensor([7, 7, 3, 7, 1]))
    expected = slow_consistency(copied, views.features, 3, [7, 7, 3, 7, 1])
    assert NeighborConsistency(3)(copied).item() == pytest.approx(expected, abs=1e-12)
    only_copies = replace(views, index=torch.zeros(5, dtype=torch.long))
    brick = NeighborConsistency()
    assert brick(only_copies) == 0
    assert not brick.selected.any()


def test_with_one_neighbor_that_says_the_same_it_is_self_distillation():
    views = unlabelled(comparable_views(0, images=2))
    twins = replace(views, logits=views.logits[:, :1].repeat(1, 2, 1), epoch=99)
    distillation = SelfDistillation(teacher_temperatures=(0.05, 0.05))
    torch.testing.assert_close(NeighborConsistency(1)(twins), distillation(twins))


def test_the_gradient_reaches_the_student_only():
    views = unlabelled(comparable_views(1, images=4))
    logits, features = views.logits.requires_grad_(), views.features.requires_grad_()
    NeighborConsistency(neighbors=20)(views).backward()  # all three others are neighbors
    with torch.no_grad():
        p, q = (logits / 0.1).softmax(-1), (logits / 0.05).softmax(-1).flip(0)
        target = (q.sum(1, keepdim=True) - q) / 3
        torch.testing.assert_close(logits.grad, (p - target) / 0.1 / 8)
    assert features.grad is None


def test_projections_get_no_gradient_from_being_compared():
    views = unlabelled(comparable_views(1, images=4))
    views.logits.requires_grad_()
    views.projections.requires_grad_()
    NeighborConsistency(space="projections")(views).backward()
    assert views.projections.grad is None


def test_labelled_images_are_neighbors_if_asked_for_but_never_learn():
    views = replace(comparable_views(0, images=2), labels=torch.tensor([0, -1]))
    views.logits.requires_grad_()
    alone = NeighborConsistency()
    assert alone(views) == 0
    assert not alone.selected.any()
    brick = NeighborConsistency(among="all")
    brick(views).backward()
    assert brick.selected.tolist() == [[False, True]] * 2
    assert (views.logits.grad[:, 0] == 0).all()
    assert (views.logits.grad[:, 1] != 0).all()


def test_neighbors_that_agree_win_over_a_single_outlier():
    logits = torch.zeros(2, 4, 3, dtype=torch.float64)
    logits[:, :3, 0] = logits[:, 3, 1] = 0.5  # three say class 0, their near neighbor says 1
    views = unlabelled(comparable_views(0, images=4))
    views = replace(views, logits=logits.requires_grad_(), features=torch.ones_like(views.features))
    NeighborConsistency(neighbors=3)(views).backward()
    assert (logits.grad[:, 3, 0] < 0).all()
    assert (logits.grad[:, 3, 1] > 0).all()
    assert math.isclose(float(logits.grad[:, 3].sum()), 0, abs_tol=1e-12)


@pytest.mark.parametrize("space", ["features", "projections"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0])
def test_everything_stays_finite(space, dtype, scale):
    views = comparable_views(0)
    values = {name: (scale * getattr(views, name)).to(dtype) for name in ("features", "projections")}
    logits = views.logits.to(dtype).requires_grad_()
    value = NeighborConsistency(space=space)(replace(views, logits=logits, **values))
    value.backward()
    assert value.dtype == torch.float32
    assert torch.isfinite(value)
    assert torch.isfinite(logits.grad).all()


def test_autocast_does_not_coarsen_the_term():
    views = comparable_views(0, images=9)
    views = replace(views, logits=views.logits.float(), features=views.features.float())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value = NeighborConsistency()(views)
    assert value == NeighborConsistency()(views)


def test_no_value_is_asked_of_the_device():
    views = comparable_views(0)
    with FakeTensorMode(allow_non_fake_inputs=True):
        fake = replace(views, logits=torch.randn(2, 6, 5), features=torch.randn(2, 6, 8), index=torch.arange(6))
        assert NeighborConsistency()(replace(fake, labels=torch.zeros(6, dtype=torch.long))).shape == ()


def test_missing_features_are_named():
    with pytest.raises(UserError, match="features are missing"):
        NeighborConsistency()(replace(comparable_views(0), features=None))
