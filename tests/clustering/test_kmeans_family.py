"""k-means and semi-supervised k-means: against a slow plain version, planted clusters, and what must always hold."""

import sys
from itertools import pairwise, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from legogcd.clustering import kmeans, semi_supervised_kmeans
from legogcd.clustering.kmeans.nearest import Nearest, NearestWithFloor
from legogcd.clustering.kmeans.seeding import Seeding
from legogcd.clustering.kmeans.semi_supervised import _Run
from legogcd.errors import UserError
from legogcd.evaluation import clustering_accuracy

few = settings(max_examples=25, deadline=None)


def blobs(seed, k=6, each=40, dim=8, spread=0.3):
    random = np.random.default_rng(seed)
    centers = random.normal(size=(k, dim)) * 2
    truth = np.repeat(np.arange(k), each)
    return (centers[truth] + random.normal(size=(k * each, dim)) * spread).astype(np.float32), truth


def partly(truth, n_known, every=3):
    """Labels for every third point of the first classes, -1 elsewhere."""
    return np.where((truth < n_known) & (np.arange(len(truth)) % every == 0), truth, -1)


def slow_semi_supervised(features, labels, centers, steps):
    """Plain loops in float64 from given centers: assign, then average."""
    x, centers = features.astype(np.float64), centers.astype(np.float64).copy()

    def assign():
        nearest = [min(range(len(centers)), key=lambda c: ((p - centers[c]) ** 2).sum()) for p in x]
        return np.array([y if y >= 0 else n for y, n in zip(labels, nearest, strict=True)])

    for _ in range(steps):
        clusters = assign()
        centers = np.array([x[clusters == c].mean(axis=0) for c in range(len(centers))])
    clusters = assign()
    return clusters, centers, sum(((p - centers[c]) ** 2).sum() for p, c in zip(x, clusters, strict=True))


def test_the_first_assignment_adds_least_to_the_inertia():
    # the point at 4 is nearer to the labelled mean (3 away) than to the new seed (3.5), but joining it adds more:
    # 9 · 4/5 = 7.2 against 12.25 · 1/2 = 6.1
    points = np.array([[7.5], [4.0]], dtype=np.float32)
    seeding = Seeding(points, points[:, 0] ** 2, np.array([[1.0]], dtype=np.float32), np.array([4]), k=2)
    starts = {int(start.drawn[0]): start for start in seeding.starts(np.random.default_rng(0), 20)}
    assert starts[0].clusters.tolist() == [1, 1]
    np.testing.assert_allclose(starts[0].cost, [0, 6.125])


def test_new_clusters_are_not_starved_by_known_means_in_noise():
    features, truth = blobs(0, k=10, each=60, dim=256, spread=6)
    labels = partly(truth, 5, every=2)
    found = semi_supervised_kmeans(features, labels, 10, seed=0)
    unlabelled = labels < 0
    plain = clustering_accuracy(truth[unlabelled], kmeans(features, 10, 0).labels[unlabelled], 5)
    score = clustering_accuracy(truth[unlabelled], found.labels[unlabelled], 5)
    assert score.new > 0.9
    assert score.all >= plain.all - 0.02


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_equals_plain_loops_from_the_same_start(steps):
    features, truth = blobs(0, spread=1.5)
    labels = partly(truth, 3)
    start = semi_supervised_kmeans(features, labels, 6, seed=1, n_init=1, max_iter=0).centers
    found = semi_supervised_kmeans(features, labels, 6, seed=1, n_init=1, max_iter=steps, tol=0)
    clusters, centers, inertia = slow_semi_supervised(features, labels, start, steps)
    np.testing.assert_array_equal(found.labels, clusters)
    np.testing.assert_allclose(found.centers, centers, atol=1e-4)
    assert found.inertia == pytest.approx(inertia, rel=1e-5)


@given(st.integers(0, 1000), st.integers(0, 5), st.floats(0.2, 3))
@few
def test_inertia_never_rises_and_labelled_points_stay(seed, n_known, spread):
    features, truth = blobs(seed, each=15, spread=spread)
    labels = partly(truth, n_known)
    history = []
    for steps in range(8):
        found = semi_supervised_kmeans(features, labels, 6, seed=seed, n_init=1, max_iter=steps, tol=0)
        np.testing.assert_array_equal(found.labels[labels >= 0], labels[labels >= 0])
        history.append(found.inertia)
    assert all(after <= before * (1 + 1e-5) for before, after in pairwise(history))


def test_recovers_planted_clusters_with_known_ones_first():
    features, truth = blobs(3, k=10)
    labels = partly(truth, 4)
    found = semi_supervised_kmeans(features, labels, 10, seed=0)
    np.testing.assert_array_equal(found.labels[truth < 4], truth[truth < 4])
    assert clustering_accuracy(truth, found.labels, 4).all == 1
    assert found.labels.dtype == np.int64
    assert found.centers.dtype == np.float32


def test_labelled_points_hold_where_distance_says_otherwise():
    # the labelled point at 10 belongs to class 0 although it lies on class 1's center
    found = semi_supervised_kmeans([[0.0], [10.0], [10.0], [10.1]], [0, 0, 1, -1], 2, seed=0)
    assert found.labels.tolist() == [0, 0, 1, 1]
    assert found.centers[0, 0] == pytest.approx(5)


@pytest.mark.parametrize("seed", range(3))
def test_without_labels_it_is_as_good_as_ordinary_kmeans(seed):
    features, _ = blobs(seed, spread=1.2)
    plain = kmeans(features, 6, seed)
    found = semi_supervised_kmeans(features, np.full(len(features), -1), 6, seed)
    assert found.inertia == pytest.approx(plain.inertia, rel=0.02)


def test_kmeans_reports_its_own_inertia_and_recovers_planted_clusters():
    features, truth = blobs(5)
    found = kmeans(features, 6, seed=0)
    assert clustering_accuracy(truth, found.labels, 0).all == 1
    assert found.inertia == pytest.approx(((features - found.centers[found.labels]) ** 2).sum(), rel=1e-4)


def test_seeds_repeat_and_more_starts_are_no_worse():
    features, truth = blobs(7, k=12, spread=2)
    labels = partly(truth, 5)
    one, again = (semi_supervised_kmeans(features, labels, 12, seed=4, n_init=3) for _ in range(2))
    np.testing.assert_array_equal(one.labels, again.labels)
    np.testing.assert_array_equal(one.centers, again.centers)
    first = semi_supervised_kmeans(features, labels, 12, seed=4, n_init=1)
    assert one.inertia <= first.inertia
    assert kmeans(features, 12, 0).inertia == kmeans(features, 12, 0).inertia


def test_far_from_the_origin_the_distances_stay_exact():
    # float32 holds these points, but their squares (1e8) would drown the distances between them
    features, truth = blobs(1)
    features = np.round(features * 64) / 64
    labels = partly(truth, 3)
    near = semi_supervised_kmeans(features, labels, 6, seed=0)
    far = semi_supervised_kmeans(features + np.float32(10_000), labels, 6, seed=0)
    np.testing.assert_array_equal(far.labels, near.labels)
    assert far.inertia == pytest.approx(near.inertia, rel=1e-3)


def test_chunks_change_nothing(monkeypatch):
    features, truth = blobs(2)
    labels = partly(truth, 3)
    whole = semi_supervised_kmeans(features, labels, 6, seed=0)
    monkeypatch.setattr(sys.modules["legogcd.clustering.kmeans.points"], "CHUNK_CELLS", 50)
    parts = semi_supervised_kmeans(features, labels, 6, seed=0)
    np.testing.assert_array_equal(parts.labels, whole.labels)
    assert parts.inertia == pytest.approx(whole.inertia, rel=1e-6)


@given(st.integers(0, 1000))
@few
def test_no_cluster_stays_empty_while_points_differ(seed):
    # few different values, many clusters: starts collide and clusters run empty
    random = np.random.default_rng(seed)
    features = np.concatenate([np.arange(7), random.integers(7, size=20)]).astype(np.float32)[:, None] ** 3
    labels = np.where(np.arange(27) == 0, 0, -1)
    found = semi_supervised_kmeans(features, labels, 7, seed, n_init=1)
    assert len(np.unique(found.labels)) == 7
    assert found.inertia == 0


def test_an_empty_cluster_is_put_where_the_error_is_largest():
    points = np.array([[-4.0], [-3.0], [1.0], [6.0]], dtype=np.float32)
    run, centers = _Run(points, np.array([0]), k=3, n_known=1), np.array([[-4.0], [2.0], [50.0]], dtype=np.float32)
    nearest = Nearest(run.free, run.free_norms, centers)
    clusters = np.concatenate([run.held, nearest.chosen])
    assert clusters.tolist() == [0, 0, 1, 1]
    means = run._means(clusters, nearest.distances, centers, np.arange(3))
    np.testing.assert_allclose(means, [[-3.5], [3.5], [6.0]])


def rare_new(seed, each=150, rare=12):
    """Three known classes, each of two halves, and three new ones that are rare; a tenth of the known is labelled."""
    random = np.random.default_rng(seed)
    centers, halves = random.normal(size=(6, 8)), random.normal(size=(3, 8)) * 0.5
    truth = np.repeat(np.arange(6), [each] * 3 + [rare] * 3)
    features = centers[truth] + random.normal(size=(len(truth), 8)) * 0.3
    side = np.where(random.random(len(truth)) < 0.5, -1, 1)[:, None]
    features += np.where(truth[:, None] < 3, side * halves[np.minimum(truth, 2)], 0)
    return features.astype(np.float32), truth, partly(truth, 3, every=10)


def test_a_known_share_keeps_large_known_classes_whole():
    plain, held = [], []
    for seed in range(10):
        features, truth, labels = rare_new(seed)
        free = labels < 0
        share = (truth[free] < 3).mean()
        for scores, known_share in ((plain, 0.0), (held, share)):
            found = semi_supervised_kmeans(features, labels, 6, seed, known_share=known_share)
            assert (found.labels[free] < 3).sum() >= round(known_share * free.sum())
            np.testing.assert_array_equal(found.labels[labels >= 0], labels[labels >= 0])
            scores.append(clustering_accuracy(truth[free], found.labels[free], 3).all)
    assert np.mean(held) > np.mean(plain) + 0.15


@given(st.integers(0, 1000), st.integers(0, 7))
@few
def test_the_floor_is_met_at_the_least_cost(seed, fewest):
    random = np.random.default_rng(seed)
    points, centers = random.normal(size=(7, 2)).astype(np.float32), random.normal(size=(5, 2)).astype(np.float32)
    nearest = NearestWithFloor(points, (points**2).sum(axis=1), centers, n_known=2, fewest=fewest)
    distances = ((points[:, None] - centers) ** 2).sum(axis=2)  # [7, 5]
    choices = (
        sum(distances[i, :2].min() if known else distances[i, 2:].min() for i, known in enumerate(chosen))
        for chosen in product([False, True], repeat=7)
        if sum(chosen) >= fewest
    )
    assert (nearest.chosen < 2).sum() >= fewest
    assert distances[np.arange(7), nearest.chosen].sum() == pytest.approx(min(choices), rel=1e-4)
    np.testing.assert_allclose(nearest.distances, distances[np.arange(7), nearest.chosen], atol=1e-5)

    moved = centers + 0.5 * (np.arange(5) % 2 == seed % 2)[:, None].astype(np.float32)
    nearest.follow(moved, np.flatnonzero(np.arange(5) % 2 == seed % 2))
    again = NearestWithFloor(points, (points**2).sum(axis=1), moved, n_known=2, fewest=fewest)
    np.testing.assert_array_equal(nearest.chosen, again.chosen)


@pytest.mark.parametrize("known_share", [0.9, 1.0])
def test_a_share_leaves_a_point_for_every_new_cluster(known_share):
    features, truth = blobs(0, each=4)
    found = semi_supervised_kmeans(features, partly(truth, 3), 6, seed=0, known_share=known_share)
    assert len(np.unique(found.labels)) == 6


@pytest.mark.parametrize("known_share", [-0.1, 1.5, float("nan")])
def test_a_share_is_from_0_to_1(known_share):
    with pytest.raises(UserError, match=r"known_share is .*; give a number from 0 to 1"):
        semi_supervised_kmeans([[0.0], [1.0], [2.0]], [0, -1, -1], 2, seed=0, known_share=known_share)


def test_as_many_clusters_as_known_classes_and_nothing_unlabelled():
    features, truth = blobs(0, k=3)
    found = semi_supervised_kmeans(features, partly(truth, 3), 3, seed=0)
    np.testing.assert_array_equal(found.labels, truth)
    all_labelled = semi_supervised_kmeans(features, truth, 3, seed=0)
    np.testing.assert_array_equal(all_labelled.labels, truth)


def test_tensors_are_taken():
    features, truth = blobs(0)
    labels = partly(truth, 3)
    given = semi_supervised_kmeans(torch.from_numpy(features).bfloat16().float(), torch.from_numpy(labels), 6, seed=0)
    assert clustering_accuracy(truth, given.labels, 3).all == 1


@pytest.mark.parametrize(
    ("features", "labels", "k", "words"),
    [
        ([[0.0], [0.0], [-0.0]], [-1, -1, -1], 2, "only 1 different"),
        ([[0.0], [1.0], [1.0]], [0, -1, -1], 3, "only 2 different"),
        ([[0.0], [1.0], [2.0], [3.0]], [0, 0, 0, -1], 3, "2 new clusters .* only 1"),
        ([[0.0], [1.0]], [0, 1], 1, "2 classes are labelled"),
        ([[0.0], [1.0]], [-1, -1], 0, "0 clusters"),
        ([[0.0], [1.0]], [0, 2], 3, "without a gap"),
        ([[0.0], [1.0]], [0, -2], 2, "without a gap"),
        ([[0.0], [1.0]], [0], 2, "expected 2 whole numbers"),
        ([[0.0], [1.0]], [0.0, 1.0], 2, "whole numbers"),
        ([[0.0], [float("nan")]], [0, 1], 2, "NaN"),
        ([0.0, 1.0], [0, 1], 2, "shape"),
    ],
)
def test_what_cannot_be_clustered_is_said(features, labels, k, words):
    with pytest.raises(UserError, match=words):
        semi_supervised_kmeans(features, labels, k, seed=0)


@pytest.mark.parametrize(("k", "words"), [(0, "at least 1"), (3, "only 2 different")])
def test_kmeans_says_when_the_number_of_clusters_cannot_be(k, words):
    with pytest.raises(UserError, match=words):
        kmeans([[0.0], [1.0], [1.0]], k, seed=0)
