"""What the report finds suspicious, on features whose answer is known."""

from dataclasses import replace

import numpy as np
import pytest

from legogcd.report.page.findings import (
    groups_like_one,
    groups_like_two,
    near_duplicates,
    outliers,
    strangers,
    wrong_labels,
)
from legogcd.report.page.group_means import directions
from legogcd.report.page.grouped_images import GroupedImages
from legogcd.report.page.layout_map import GRID, map_points


def grouped(group: np.ndarray, belief: np.ndarray, n_known: int, labelled: np.ndarray | None = None) -> GroupedImages:
    groups = belief.shape[1]
    return GroupedImages(
        names=tuple(f"{row}.jpg" for row in range(len(group))),
        groups=tuple(f"group {number}" for number in range(groups)),
        known=np.arange(groups) < n_known,
        group=group,
        belief=belief,
        predicted=belief.argmax(1),
        learned=np.ones(groups, bool),
        labelled=np.zeros(len(group), bool) if labelled is None else labelled,
    )


def blobs(sizes: list[int], centers: np.ndarray, noise: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Directions [N, D] around some centers, and whose center each has."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    points = centers[group] + np.random.default_rng(seed).normal(0, noise, (len(group), centers.shape[1]))
    return directions(points), group


def sure(group: np.ndarray, n_groups: int, share: float = 0.9) -> np.ndarray:
    rest = (1 - share) / (n_groups - 1)
    return np.where(np.arange(n_groups) == group[:, None], share, rest)


def slow_doubts(group: np.ndarray, units: np.ndarray, labelled: np.ndarray) -> list[tuple[float, int]]:
    """How much nearer each labelled image is to another group's mean than to that of its own without it."""
    doubts = []
    for row in np.flatnonzero(labelled):
        alike = {}
        for number in np.unique(group[labelled]):
            others = [i for i in range(len(group)) if group[i] == number and i != row]
            if others:
                alike[number] = float(units[row] @ directions(units[others].mean(0)[None])[0])
        own = alike.pop(group[row], None)
        if own is not None and alike:
            doubts.append((max(alike.values()) - own, int(row)))
    return sorted(doubts, key=lambda doubt: -doubt[0])


def test_labels_that_look_like_another_group_come_most_doubtful_first() -> None:
    units, truth = blobs([40, 40, 40], np.eye(3), 0.3)
    group, labelled = truth.copy(), np.arange(120) % 2 == 0
    group[[4, 50, 100]] = [1, 2, 0]  # labelled wrong
    group[[5, 51]] = [1, 2]  # sorted wrong, but no label
    group[[7, 9, 11, 13]] = 3  # a new group that looks like group 0 is no other label
    found = wrong_labels(grouped(group, sure(group, 4), 3, labelled), units)
    assert {finding.images[0] for finding in found} == {4, 50, 100}
    expected = [row for lead, row in slow_doubts(group, units, labelled) if lead >= 0.03][:3]
    assert [finding.images[0] for finding in found] == expected
    wrong = next(finding for finding in found if finding.images == (4,))
    assert wrong.groups == (1, 0)
    assert wrong.values[0] > wrong.values[1]


def test_right_labels_are_not_doubted_and_a_class_of_one_cannot_be() -> None:
    units, group = blobs([30, 30, 1], np.eye(3), 0.1)
    assert wrong_labels(grouped(group, sure(group, 3), 3, np.ones(61, bool)), units) == []


def test_no_more_than_a_twentieth_of_the_labels_is_called_wrong() -> None:
    for count, most in ((40, 2), (5000, 50)):
        units, truth = blobs([count // 2, count // 2], np.eye(2), 0.05)
        group = np.where(np.arange(count) % 4 == 0, 1 - truth, truth)  # a quarter is wrong
        assert len(wrong_labels(grouped(group, sure(group, 2), 2, np.ones(count, bool)), units)) == most


def one_picture(rows: np.ndarray) -> np.ndarray:
    """The same small picture for every row."""
    return np.repeat(np.random.default_rng(0).integers(0, 256, (1, 48, 48), np.uint8), len(rows), axis=0)


def test_duplicates_have_parallel_features_and_one_picture() -> None:
    units = directions(np.array([[1.0, 0, 0], [1, 0.1, 0], [1, 0, 0.1], [0, 1, 0]]))
    pictures = np.random.default_rng(0).integers(0, 256, (2, 48, 48), np.uint8)[[0, 0, 1, 0]]
    found = near_duplicates(grouped(np.zeros(4, int), np.ones((4, 1)), 1), units, lambda rows: pictures[rows])
    assert [finding.images for finding in found] == [(0, 1)]  # the third is another picture, the fourth is elsewhere


def test_the_same_picture_in_two_categories_comes_first() -> None:
    units = directions(np.array([[1.0, 0, 0], [1, 0, 0], [0, 1, 0], [0.02, 1, 0], [0, 0, 1]]))
    group = np.array([0, 0, 0, 1, 1])
    found = near_duplicates(grouped(group, sure(group, 2), 2), units, one_picture)
    assert [(finding.images, finding.groups) for finding in found] == [((2, 3), (0, 1)), ((0, 1), (0,))]


def test_pictures_that_cannot_be_read_are_no_duplicates() -> None:
    units = np.tile([[1.0, 0.0]], (4, 1))
    group = np.zeros(4, int)
    unread = near_duplicates(grouped(group, np.ones((4, 1)), 1), units, lambda rows: np.zeros((len(rows), 48, 48)))
    assert unread == []


def test_an_outlier_is_both_doubtful_and_far_from_its_center() -> None:
    units, group = blobs([60, 60], np.eye(2, 8), 0.05)
    belief = sure(group, 2)
    units[5] = np.eye(8)[7]  # far, but the model is sure
    units[6], belief[6] = np.eye(8)[6], [0.55, 0.45]  # far and doubtful
    belief[7] = [0.6, 0.4]  # doubtful, but typical
    belief[100:112] = [0.3, 0.7]
    assert [finding.images for finding in outliers(grouped(group, belief, 1), units)] == [(6,)]


def test_a_group_of_two_kinds_is_told_from_groups_of_one() -> None:
    units, kind = blobs([40, 25, 60], np.eye(3, 32), 0.15)
    group = np.where(kind == 2, 1, 0)  # the first two kinds are in one group
    found = groups_like_two(grouped(group, sure(group, 2), 1), units)
    assert [finding.groups for finding in found] == [(0,)]
    assert found[0].values[1:] == (40, 25)
    assert set(kind[list(found[0].images[:3])]) == {0}
    assert set(kind[list(found[0].images[3:])]) == {1}


def test_one_kind_in_two_groups_is_found_unless_both_are_known() -> None:
    units, kind = blobs([80, 40], np.eye(2, 32), 0.15)
    group = np.where(kind == 1, 2, np.arange(len(kind)) % 2)  # the first kind is cut at random
    images = grouped(group, sure(group, 3), 1)
    assert [finding.groups for finding in groups_like_one(images, units)] == [(0, 1)]
    assert groups_like_one(grouped(group, sure(group, 3), 2), units) == []


def at_angles(*degrees: float) -> np.ndarray:
    """Directions in a plane."""
    turned = np.radians(degrees)
    return np.stack([np.cos(turned), np.sin(turned)], axis=1)


def test_another_class_must_be_nearer_by_more_than_a_hair_than_the_rest_of_the_own_one() -> None:
    """The image to judge is left out of its own class: its own share in a class of two would hide any mistake."""
    group = np.array([0, 0, 1, 1])
    labelled = np.ones(4, bool)
    found = wrong_labels(grouped(group, sure(group, 2), 2, labelled), at_angles(0, 50, 80, 90))
    assert [finding.images for finding in found] == [(1,)]
    assert found[0].groups == (0, 1)
    np.testing.assert_allclose(found[0].values, np.cos(np.radians([35, 50])), rtol=1e-6)
    nearly = at_angles(0, 43, 80, 90)  # cos 42° against cos 43°: nearer, but by 0.012
    assert wrong_labels(grouped(group, sure(group, 2), 2, labelled), nearly) == []


def test_duplicates_in_one_category_come_by_how_alike_the_least_alike_are() -> None:
    units = np.zeros((7, 6))
    units[:3, :2] = at_angles(0, 10, 17)
    units[3:5, 2:4] = at_angles(0, 3)
    units[5:, 4:] = at_angles(0, 90)
    group = np.zeros(7, int)
    found = near_duplicates(grouped(group, np.ones((7, 1)), 1), units, one_picture)
    assert [finding.images for finding in found] == [(3, 4), (0, 1, 2)]
    np.testing.assert_allclose([finding.values[0] for finding in found], np.cos(np.radians([3, 17])))


def test_the_farthest_outlier_comes_first_with_the_share_of_images_that_are_more_typical() -> None:
    units, group = blobs([60, 60], np.eye(2, 8), 0.05)
    belief = sure(group, 2)
    for row, far in ((6, 0.6), (9, 0.0)):
        units[row] = directions(np.array([[far, 0, 0, 0, 0, 0, 0, 1.0]]))[0]
        belief[row] = [0.55, 0.45]
    belief[100:112] = [0.3, 0.7]
    found = outliers(grouped(group, belief, 1), units)
    assert [finding.images for finding in found] == [(9,), (6,)]
    assert [finding.groups for finding in found] == [(0,), (0,)]
    np.testing.assert_allclose([finding.values for finding in found], [(0.55, 59 / 60), (0.55, 58 / 60)])


def test_an_outlier_is_far_from_where_the_images_of_a_group_are_not_where_the_model_sees_them() -> None:
    """Labels decide where a group is: images of another class that the model takes for it do not move its center."""
    units, group = blobs([40, 40], np.eye(2, 8), 0.02)
    belief = sure(group, 2)
    belief[40:54] = [0.95, 0.05]  # a third of the other class is taken for the first
    units[5, :2], units[5, 2:], belief[5] = at_angles(10)[0], 0, [0.55, 0.45]  # a little towards the other class
    found = outliers(grouped(group, belief, 2, np.arange(80) >= 40), units)
    assert (5,) in [finding.images for finding in found]


def test_a_few_odd_images_are_no_second_kind_and_the_clearest_case_comes_first() -> None:
    units, kind = blobs([30, 4, 30, 30, 30, 30], np.eye(6, 32), 0.12)
    units[94:] = directions(units[94:] + 0.9 * np.eye(32)[10])  # the last two kinds are related
    group = np.array([0, 0, 1, 1, 2, 2])[kind]
    found = groups_like_two(grouped(group, sure(group, 3), 1), units)
    assert [finding.groups for finding in found] == [(1,), (2,)]
    assert found[0].values[0] > found[1].values[0]


def test_groups_nearest_to_each_other_come_first_and_two_images_are_no_group() -> None:
    units, kind = blobs([80, 80, 40, 2], np.eye(4, 32), 0.15)
    units[120:160] = directions(units[120:160] + 0.11 * np.eye(32)[9])  # less of one kind than the first two halves
    group = np.where(kind == 0, np.arange(len(kind)) % 2, kind + 2)
    group[(kind == 1) & (np.arange(len(kind)) >= 120)] = 2
    group[kind == 3] = 5
    units[-2:] = units[:2]
    images = grouped(group, sure(group, 6), 0)
    found = groups_like_one(images, units)
    assert [finding.groups for finding in found] == [(0, 1), (2, 3)]
    assert found[0].values[0] < found[1].values[0]


def test_the_distance_of_two_groups_counts_in_the_mean_of_their_widths() -> None:
    """A wide group and a narrow one, by hand: centers 1 apart, widths 2 and 0.5 in flat coordinates."""
    wide = np.array([[2.0, 0], [-2.0, 0], [0, 2.0], [0, -2.0]])
    narrow = wide / 4 + np.array([0.6, 0])
    group = np.repeat([0, 1], 4)
    found = groups_like_one(grouped(group, sure(group, 2), 0), np.concatenate([wide, narrow]))
    assert [finding.values for finding in found] == [pytest.approx((0.6 / 1.25,))]
    assert groups_like_one(grouped(group, sure(group, 2), 0), np.concatenate([wide, narrow + np.array([0.3, 0])])) == []


def test_the_map_keeps_kinds_apart_and_is_always_the_same() -> None:
    units, kind = blobs([40, 40, 40], np.eye(3, 24), 0.1)
    points = map_points(units)
    assert points.min() == 0
    assert points.max() == GRID
    distance = np.linalg.norm(points[:, None] - points[None], axis=-1) + 1e9 * np.eye(len(points))
    assert (kind[distance.argmin(1)] == kind).mean() > 0.98
    assert np.array_equal(points, map_points(units))


def test_a_large_collections_map_places_the_rest_beside_its_neighbors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("legogcd.report.page.layout_map._LAID_OUT", 60)
    units, kind = blobs([100, 100], np.eye(2, 24), 0.1)
    points = map_points(units)
    distance = np.linalg.norm(points[:, None] - points[None], axis=-1) + 1e9 * np.eye(len(points))
    assert (kind[distance.argmin(1)] == kind).mean() > 0.98


@pytest.mark.parametrize("count", [1, 2, 7, 8])
def test_a_map_of_few_or_equal_images_is_drawn_all_the_same(count: int) -> None:
    assert map_points(np.ones((count, 3))).shape == (count, 2)
    assert map_points(np.eye(2)[np.arange(count) % 2]).shape == (count, 2)
    assert map_points(directions(np.random.default_rng(0).normal(size=(count, 3)))).shape == (count, 2)


def test_strangers_that_look_alike_are_candidates_for_a_category() -> None:
    centers = np.eye(5)
    units, kind = blobs([30, 30, 8, 5, 1], centers, 0.05)  # the last three kinds are of no category
    put = np.where(kind < 2, kind, kind % 2)
    images = grouped(put, sure(put, 2), 1)
    assert strangers(images, units) == [], "this run cannot tell"
    strangeness = np.where(kind < 2, np.linspace(0, 0.9, len(kind)), 0.99)
    strangeness[3] = 0.97  # one that belongs and looks as strange
    found = strangers(replace(images, strangeness=strangeness), units)
    assert [finding.values for finding in found] == [(8, 8), (5, 5)]
    assert [finding.groups for finding in found] == [(0,), (1,)]
    assert [{int(kind[row]) for row in finding.images} for finding in found] == [{2}, {3}]
    apart = np.random.default_rng(1).normal(size=(6, 5))
    odd = np.concatenate([units[kind < 2], directions(apart)])
    rest = np.concatenate([put[kind < 2], np.zeros(6, int)])
    strange = np.repeat([0.5, 0.99], [60, 6])
    assert strangers(replace(grouped(rest, sure(rest, 2), 1), strangeness=strange), odd) == [], "all of their own kind"
    labelled = replace(images, strangeness=strangeness, labelled=kind == 2)
    assert [finding.values for finding in strangers(labelled, units)] == [(5, 5)], "what has a label is no stranger"
