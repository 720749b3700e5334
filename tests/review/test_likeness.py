"""Order by likeness, cells, neighbors, sub-clusters: against plain oracles."""

import numpy as np
import pytest

from legogcd.review.cells import cells_of, nearest_neighbors
from legogcd.review.ordering import keep_order, mean_step, order_by_likeness
from legogcd.review.prepare import reduce_features
from legogcd.review.proposals import parts_of


def crowds(n: int, kinds: int, dim: int = 24, noise: float = 0.4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    kind = random.integers(0, kinds, n)
    points = random.normal(size=(kinds, dim))[kind] + noise * random.normal(size=(n, dim))
    return points.astype(np.float32), kind


@pytest.mark.parametrize("n", [0, 1, 2, 3, 40, 1500])
def test_an_order_has_everything_once_and_neighbors_are_near(n: int) -> None:
    points, _ = crowds(n, 5)
    order = order_by_likeness(points)
    assert sorted(order.tolist()) == list(range(n))
    assert order.tolist() == order_by_likeness(points).tolist(), "always the same"
    if n > 10:
        random = np.random.default_rng(1).permutation(n)
        assert mean_step(points, order) < 0.65 * mean_step(points, random)


def test_the_order_of_points_on_a_line_is_the_line() -> None:
    line = np.random.default_rng(0).permutation(60).astype(np.float32)[:, None]
    walked = line[order_by_likeness(line), 0].tolist()
    assert walked in (sorted(walked), sorted(walked, reverse=True))


def test_images_that_do_not_belong_stand_together() -> None:
    """A hundred of one kind and twelve of another: the twelve are one stretch, in a random order they are eleven."""
    points, _ = crowds(100, 1)
    strangers = crowds(12, 1, seed=5)[0] + 3
    both = np.concatenate([points, strangers])[np.random.default_rng(0).permutation(112)]
    is_stranger = (both - points.mean(0) > 1.5).mean(1) > 0.5
    assert is_stranger.sum() == 12
    walked = is_stranger[order_by_likeness(both)]
    assert (np.diff(walked.astype(int)) == 1).sum() + walked[0] == 1


def test_an_order_stays_when_images_leave_and_takes_in_new_ones_beside_their_like() -> None:
    points, kind = crowds(120, 3, noise=0.1)
    before = order_by_likeness(points[:100])
    left = np.setdiff1d(np.arange(100), [3, 50, 51])
    assert keep_order(before, left, points).tolist() == [row for row in before.tolist() if row in set(left.tolist())]
    grown = keep_order(before, np.arange(120), points)
    assert sorted(grown.tolist()) == list(range(120))
    assert [row for row in grown.tolist() if row < 100] == before.tolist()
    for place, row in enumerate(grown.tolist()):
        if row >= 100:
            assert kind[grown[place - 1]] == kind[row]


@pytest.mark.parametrize("n", [1, 2, 30, 6000])
def test_neighbors_are_those_that_comparing_all_pairs_finds(n: int) -> None:
    points, _ = crowds(n, 8)
    found = nearest_neighbors(points, 10)
    assert found.shape == (n, min(10, n - 1))
    asked = np.random.default_rng(0).permutation(n)[:100]
    apart = ((points[asked][:, None] - points[None]) ** 2).sum(2)
    apart[np.arange(len(asked)), asked] = np.inf
    right = np.argsort(apart, axis=1)[:, : min(10, n - 1)]
    shared = [len({*one} & {*other}) for one, other in zip(found[asked].tolist(), right.tolist(), strict=True)]
    assert sum(shared) >= 0.95 * right.size
    if n <= 4096:
        assert sum(shared) == right.size
    assert not any(row in near for row, near in enumerate(found.tolist()))


def test_cells_of_equal_points_are_cut_and_none_is_lost() -> None:
    points = np.zeros((5000, 8), np.float32)
    cell = cells_of(points, 70)
    assert np.bincount(cell).max() <= 4 * 5000 // 70
    assert sorted(order_by_likeness(points).tolist()) == list(range(5000))
    assert nearest_neighbors(points, 5).shape == (5000, 5)


def test_reduced_features_keep_their_dot_products() -> None:
    random = np.random.default_rng(0)
    points, _ = crowds(300, 6, dim=20)
    wide = points @ random.normal(size=(20, 400)).astype(np.float32)
    units = wide / np.linalg.norm(wide, axis=1, keepdims=True)
    reduced = reduce_features(units)
    assert reduced.shape == (300, 128)
    np.testing.assert_allclose(reduced @ reduced.T, units @ units.T, atol=1e-4)


@pytest.mark.parametrize("kinds", [2, 3, 5])
def test_proposals_find_the_kinds_in_a_group_and_how_many(kinds: int) -> None:
    points, kind = crowds(240, kinds, noise=0.2)
    members = np.arange(1000, 1240)
    parts = parts_of(members, points, None)
    assert len(parts) == kinds
    assert sorted(np.concatenate([part.rows for part in parts]).tolist()) == members.tolist()
    for part in parts:
        assert len(set(kind[part.rows - 1000])) == 1
        assert {*part.typical} <= {*part.rows.tolist()}
    assert [len(part.rows) for part in parts] == sorted((len(part.rows) for part in parts), reverse=True)
    assert len(parts_of(members, points, 2)) == 2
    assert len(parts_of(members[:3], points[:3], None)) == 1


def test_two_kinds_that_are_hard_to_tell_apart_are_not_proposed_as_many_small_parts() -> None:
    """Few points in many dimensions: each is near to the middle of a small part only because it is in it."""
    random = np.random.default_rng(0)
    kind = np.repeat([0, 1], 30)
    points = (random.normal(size=(2, 128))[kind] * 0.3 + random.normal(size=(60, 128))).astype(np.float32)
    parts = parts_of(np.arange(60), points, None)
    assert [len(part.rows) for part in parts] == [30, 30]
