"""What several ways to cluster agree on: against averaging matrices written out, and how settling uses it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_whitening import sample

from legogcd.clustering import directions
from legogcd.evaluation import clustering_accuracy
from legogcd.methods.legogcd_plus.settling import agreed, settled_centers

few = settings(max_examples=30, deadline=None)


def some(seed: int, n: int = 30, k: int = 4, ways: int = 3) -> tuple[np.ndarray, list[np.ndarray]]:
    random = np.random.default_rng(seed)
    return random.normal(size=(n, 5)), [random.integers(0, k, n) for _ in range(ways)]


@few
@given(st.integers(0, 10_000))
def test_it_averages_the_matrices_that_average_clusters(seed: int) -> None:
    points, ways = some(seed)
    together = [one[:, None] == one for one in ways]  # [N, N]
    matrix = np.mean([same / same.sum(axis=1, keepdims=True) for same in together], axis=0)
    np.testing.assert_allclose(agreed(points, ways), matrix @ points, atol=1e-12)


@few
@given(st.integers(0, 10_000))
def test_what_clusters_are_called_is_nothing_to_it(seed: int) -> None:
    points, ways = some(seed)
    names = np.random.default_rng(seed).permutation(4)
    np.testing.assert_allclose(agreed(points, [names[ways[0]], ways[2], ways[1]]), agreed(points, ways), atol=1e-12)


@pytest.mark.parametrize("spread", [0.0, 0.2])
def test_agreement_finds_classes_also_where_all_ways_are_the_same(spread: float) -> None:
    seen, labels, classes = sample(5, nuisance=spread)
    found = np.where(labels >= 0, labels, np.arange(len(labels)) % 6)  # training learned nothing
    centers = settled_centers(seen, labels, found, k=6, n_known=3, seed=0, agreement=True)
    predicted = (directions(seen) @ centers.T).argmax(axis=1)
    assert clustering_accuracy(classes, predicted, n_known=3).all == 1


def test_the_same_seed_settles_the_same() -> None:
    seen, labels, classes = sample(5, nuisance=0.5)
    one, again, other = (settled_centers(seen, labels, classes, 6, 3, seed, agreement=True) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert one.shape == other.shape
