"""Who is paired with whom, and what holds for every brick that is made of pairs."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from brick_samples import certain_of, comparable_views, unlabelled
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode

from legogcd.bricks import TwoViews
from legogcd.bricks.neighbor_pairs import NeighborPairs
from legogcd.bricks.rank_statistics import RankStatistics
from legogcd.bricks.shared.pairs import nearest_other, same_class_partner, same_top
from legogcd.errors import UserError

SEEDS = st.integers(0, 2**32 - 1)
IMAGES = st.integers(1, 8)
LAW = settings(max_examples=25, deadline=None)
PAIR_BRICKS = {"RankStatistics": lambda: RankStatistics(top=3), "NeighborPairs": NeighborPairs}


def order_of(images, seed):
    return torch.randperm(images, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("top", [1, 3, 5])
def test_same_top_compares_the_sets_of_the_largest_dimensions(top):
    features = comparable_views(1, images=9).features[0]
    largest = [set(np.argsort(row)[-top:]) for row in features.numpy()]
    expected = [[a == b for b in largest] for a in largest]
    assert same_top(features, top).tolist() == expected
    assert 9 < sum(map(sum, expected)) < 81


@LAW
@given(seed=SEEDS, images=IMAGES, levels=st.integers(1, 4))
def test_same_top_does_not_know_the_order_of_dimensions_even_where_values_are_equal(seed, images, levels):
    features = (levels * comparable_views(seed, images).features[0].sigmoid()).round()
    same = same_top(features, top=3)
    assert same.equal(same_top(features[:, order_of(8, seed)], top=3))
    order = order_of(images, seed)
    assert same_top(features[order], top=3).equal(same[order][:, order])
    assert same.diagonal().all()
    assert same.equal(same.T)


def test_all_rows_agree_where_there_are_no_more_dimensions_than_the_top():
    assert same_top(torch.randn(4, 3), top=5).all()


def test_the_nearest_other_row_by_cosine():
    features = comparable_views(2, images=7).features[0]
    expected = []
    for i, a in enumerate(features):
        cosines = {j: float(a @ b / a.norm() / b.norm()) for j, b in enumerate(features) if j != i}
        expected.append(max(cosines, key=cosines.get))
    assert nearest_other(features).tolist() == expected
    assert nearest_other(features * torch.arange(1.0, 8.0)[:, None]).tolist() == expected


def test_a_copy_of_an_image_is_no_neighbor_and_no_partner():
    features = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    images = torch.tensor([5, 5, 9])
    assert nearest_other(features, images).tolist()[:2] == [2, 2]
    assert same_class_partner(torch.tensor([1, 1, 1]), images).tolist()[:2] == [2, 2]
    assert nearest_other(features[:2], images[:2]).tolist() == [0, 1]


@LAW
@given(seed=SEEDS, images=IMAGES, epoch=st.integers(0, 300))
def test_a_partner_is_another_image_of_the_class_in_whatever_order(seed, images, epoch):
    views = comparable_views(seed, images)
    partners = same_class_partner(views.labels, views.index, epoch)
    for i, (label, partner) in enumerate(zip(views.labels.tolist(), partners.tolist(), strict=True)):
        alone = label < 0 or int((views.labels == label).sum()) == 1
        assert views.labels[partner] == label
        assert (partner == i) == alone
    order = order_of(images, seed)
    shuffled = same_class_partner(views.labels[order], views.index[order], epoch)
    assert views.index[order][shuffled].equal(views.index[partners][order])


def test_partners_are_drawn_evenly_anew_each_epoch_and_leave_the_generator_alone():
    before = torch.get_rng_state()
    labels = torch.zeros(5, dtype=torch.long)
    draws = torch.stack([same_class_partner(labels, torch.arange(100, 105), epoch) for epoch in range(2000)])
    assert torch.get_rng_state().equal(before)
    for i in range(5):
        counts = Counter(draws[:, i].tolist())
        assert sorted(counts) == [j for j in range(5) if j != i]
        assert all(abs(count - 500) < 5 * (2000 * 0.25 * 0.75) ** 0.5 for count in counts.values())
    together = Counter(map(tuple, draws[:, :2].tolist()))  # the draws of two images do not hang together
    assert all(abs(count - 125) < 5 * (2000 / 16) ** 0.5 for count in together.values())
    assert len(together) == 16
    consecutive = Counter(zip(draws[:-1, 0].tolist(), draws[1:, 0].tolist(), strict=True))
    assert all(abs(count - 125) < 5 * (2000 / 16) ** 0.5 for count in consecutive.values())


def test_the_draw_is_the_same_on_every_machine():
    partners = same_class_partner(torch.zeros(8, dtype=torch.long), torch.arange(0, 80000, 10000), epoch=3)
    assert partners.tolist() == [1, 2, 0, 2, 0, 2, 1, 2]


def step_in(views, order):
    """The same step with its images in another order."""
    return replace(
        views,
        logits=views.logits[:, order],
        features=views.features[:, order],
        labels=views.labels[order],
        index=views.index[order],
    )


@pytest.mark.parametrize("name", PAIR_BRICKS)
@LAW
@given(seed=SEEDS, images=IMAGES, constant=st.floats(-5, 5))
def test_what_does_not_change_a_brick_of_pairs(name, seed, images, constant):
    views = comparable_views(seed, images)
    expected = PAIR_BRICKS[name]()(views)
    classes = torch.tensor([1, 2, 0, 4, 3])
    renamed = torch.where(views.labelled, classes.argsort()[views.labels], -1)
    for same in (
        step_in(views, order_of(images, seed)),
        replace(views, features=views.features[..., order_of(8, seed)]),
        replace(views, logits=views.logits[..., classes], labels=renamed),
        replace(views, logits=views.logits + constant),
        replace(views, features=views.features.clone().requires_grad_()),
    ):
        torch.testing.assert_close(PAIR_BRICKS[name]()(same), expected)


BATCHES = {
    "ordinary": comparable_views(0),
    "no labelled image": unlabelled(comparable_views(0)),
    "all labelled": replace(comparable_views(0), labels=torch.tensor([0, 1, 2, 0, 1, 2])),
    "all labelled apart": replace(comparable_views(0, n_known=5), labels=torch.tensor([0, 1, 2, 3, 4, -1])),
    "one unlabelled image": unlabelled(comparable_views(0, images=1)),
    "one labelled image": replace(comparable_views(0, images=1), labels=torch.tensor([1])),
    "one image many times": replace(comparable_views(0), index=torch.zeros(6, dtype=torch.long)),
    "one class": comparable_views(0, classes=1, n_known=1),
    "no features to speak of": replace(comparable_views(0), features=torch.zeros(2, 6, 8, dtype=torch.float64)),
    "certain views that disagree": unlabelled(replace(comparable_views(0), logits=certain_of(0, 1))),
    "certain views that agree": unlabelled(replace(comparable_views(0), logits=certain_of(0, 0))),
}


def cast(views, dtype):
    return replace(views, logits=views.logits.to(dtype), features=views.features.to(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("name", PAIR_BRICKS)
def test_everything_stays_finite(name, batch, dtype):
    views = cast(BATCHES[batch], dtype)
    logits = views.logits.clone().requires_grad_()
    brick = PAIR_BRICKS[name]()
    value = brick(replace(views, logits=logits))
    value.backward()
    assert value.dtype == torch.float32
    assert value.shape == ()
    assert torch.isfinite(value)
    assert torch.isfinite(logits.grad).all()
    assert brick.selected.shape == (2, len(views.labels))
    assert brick.selected.dtype == torch.bool


@pytest.mark.parametrize("name", PAIR_BRICKS)
def test_autocast_does_not_coarsen_a_brick_of_pairs(name):
    views = cast(comparable_views(0), torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value = PAIR_BRICKS[name]()(views)
    assert value == PAIR_BRICKS[name]()(views)


@pytest.mark.parametrize("name", PAIR_BRICKS)
def test_no_value_is_asked_of_the_device(name):
    with FakeTensorMode():  # tensors without values: reading one raises
        views = TwoViews(
            torch.randn(2, 4, 8),
            torch.randn(2, 4, 5, requires_grad=True),
            torch.zeros(4, dtype=torch.long),
            n_known=3,
            epoch=0,
            features=torch.randn(2, 4, 8, requires_grad=True),
            index=torch.arange(4),
        )
        assert PAIR_BRICKS[name]()(views).shape == ()


@pytest.mark.parametrize("name", PAIR_BRICKS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_twenty_steps_lower_it(name, seed):
    views = replace(comparable_views(seed, images=8), labels=torch.tensor([0, 1, 2, 0, -1, -1, -1, -1]))
    views.logits.requires_grad_()
    optimizer = torch.optim.SGD([views.logits], lr=0.1)
    brick = PAIR_BRICKS[name]()
    first = brick(views).item()
    for _ in range(20):
        optimizer.zero_grad()
        brick(views).backward()
        optimizer.step()
    assert brick(views).item() < first - 1e-3


@pytest.mark.parametrize("name", PAIR_BRICKS)
def test_views_without_features_or_with_wrong_ones_are_explained(name):
    views = comparable_views(0)
    with pytest.raises(UserError, match=r"features are missing; to compare 6 images give features as \[2, 6, dim"):
        PAIR_BRICKS[name]()(replace(views, features=None))
    with pytest.raises(UserError, match=r"features are of shape \[2, 5, 8\]"):
        PAIR_BRICKS[name]()(replace(views, features=views.features[:, :5]))
    with pytest.raises(UserError, match=r"logits has shape \[2, 5, 5\] beside labels of shape \[6\]"):
        PAIR_BRICKS[name]()(replace(views, logits=views.logits[:, :5]))
