"""Points exchanged one at a time: against a slow plain search, and what must always hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from legogcd.clustering import exchanged, semi_supervised_kmeans
from legogcd.clustering.kmeans import exchange as exchanging
from legogcd.clustering.kmeans.exchange import Exchange
from legogcd.evaluation import clustering_accuracy

few = settings(max_examples=30, deadline=None)


def inertia(points, clusters):
    """Squared distances to the clusters' means, one cluster after the other."""
    x = points.astype(np.float64)
    return sum(((x[clusters == c] - x[clusters == c].mean(axis=0)) ** 2).sum() for c in np.unique(clusters))


def problem(seed, n=40, dim=5, k=4, n_held=8):
    random = np.random.default_rng(seed)
    points = random.normal(size=(n, dim)).astype(np.float32)
    clusters = random.integers(0, k, n)
    clusters[:k] = np.arange(k)
    return points, clusters, k, n_held


@few
@given(st.integers(0, 10_000))
def test_no_single_move_betters_the_end(seed):
    points, clusters, k, n_held = problem(seed)
    found = Exchange(points, clusters, k, n_held).run()
    least = inertia(points, found)
    for row in range(n_held, len(points)):
        if (found == found[row]).sum() > 1:
            for other in range(k):
                moved = found.copy()
                moved[row] = other
                assert inertia(points, moved) >= least - 1e-4


@few
@given(st.integers(0, 10_000), st.integers(1, 3), st.integers(0, 20))
def test_it_lowers_the_inertia_and_keeps_what_it_must(seed, n_known, fewest):
    points, clusters, k, n_held = problem(seed)
    before = int((clusters[n_held:] < n_known).sum())
    found = Exchange(points, clusters, k, n_held, n_known, fewest).run()
    assert inertia(points, found) <= inertia(points, clusters) + 1e-4
    np.testing.assert_array_equal(found[:n_held], clusters[:n_held])
    assert set(found) == set(range(k)), "no cluster is emptied"
    assert (found[n_held:] < n_known).sum() >= min(before, fewest)


def test_an_empty_cluster_takes_the_point_that_costs_most():
    points = np.array([[0.0], [0.1], [9.0]], np.float32)
    assert Exchange(points, np.zeros(3, int), k=2, n_held=0).run().tolist() == [0, 0, 1]


def small_classes_in_many_dimensions(seed, k=20, each=15, dim=200, spread=1.25):
    random = np.random.default_rng(seed)
    centers = random.normal(size=(k, dim)) / dim**0.5
    truth = np.repeat(np.arange(k), each)
    points = centers[truth] + spread * random.normal(size=(k * each, dim)) / dim**0.5 * 2
    return points.astype(np.float32), truth


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_small_classes_in_many_dimensions_are_found_where_nearest_centers_stop_early(seed):
    """A point is near to its own center because it is in it: with few points per cluster, that decides."""
    points, truth = small_classes_in_many_dimensions(seed)
    labels = np.where((truth < 10) & (np.arange(len(truth)) % 2 == 0), truth, -1)
    scores, inertias = [], []
    for exchange in (False, True):
        found = semi_supervised_kmeans(points, labels, 20, seed=0, n_init=5, exchange=exchange)
        unlabelled = labels < 0
        scores.append(clustering_accuracy(truth[unlabelled], found.labels[unlabelled], 10).all)
        inertias.append(found.inertia)
        assert found.inertia == pytest.approx(inertia(points, found.labels), rel=1e-4) or not exchange
    assert inertias[1] < inertias[0]
    assert scores[1] > scores[0] + 0.1


@pytest.mark.parametrize("known_share", [0.0, 0.4])
def test_looking_only_at_clusters_that_changed_ends_where_looking_at_all_does(
    known_share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(0)
    classes = np.arange(1200) % 60
    points = (random.normal(size=(60, 20))[classes] + random.normal(size=(1200, 20))).astype(np.float32)
    labels = np.where((classes < 30) & (np.arange(1200) < 600), classes, -1)
    begun = random.integers(0, 60, 1200)
    looked: list[int] = []
    costs = Exchange._costs

    def counted(self: Exchange, rows: np.ndarray) -> np.ndarray:
        looked.append(len(rows))
        return costs(self, rows)

    monkeypatch.setattr(Exchange, "_costs", counted)
    found = {}
    for at_rest in (61, 1):  # never, and whenever a single one is as it was
        monkeypatch.setattr(exchanging, "_AT_REST", at_rest)
        looked.clear()
        found[at_rest] = exchanged(points, labels, begun, 60, 30, known_share), sum(looked)
    np.testing.assert_array_equal(found[61][0], found[1][0])
    assert found[1][1] < found[61][1]
