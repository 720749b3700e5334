"""The fast parts of semi-supervised k-means against plain float64 loops, and its memory."""

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from legogcd.clustering import semi_supervised_kmeans
from legogcd.clustering.kmeans.means import cluster_means
from legogcd.clustering.kmeans.nearest import Nearest
from legogcd.clustering.kmeans.semi_supervised import _Run

few = settings(max_examples=25, deadline=None)


def noisy(seed, n=240, k=8, dim=12, spread=0.8):
    """Overlapping clusters with their mean at 0, half of their points in the first half of the classes labelled."""
    random = np.random.default_rng(seed)
    truth = random.integers(k, size=n)
    points = (random.normal(size=(k, dim))[truth] + random.normal(size=(n, dim)) * spread).astype(np.float32)
    truth[: k // 2] = np.arange(k // 2)
    labels = np.where((truth < k // 2) & (np.arange(n) % 2 == 0) | (np.arange(n) < k // 2), truth, -1)
    return points - points.mean(axis=0), labels


def squared(points, centers):
    return ((points[:, None].astype(np.float64) - centers[None].astype(np.float64)) ** 2).sum(axis=2)


def plain_start(x, labels, k, random):
    """Clusters after k-means++, one center at a time: each point joins where that adds least to the inertia."""
    free = np.flatnonzero(labels < 0)
    centers = [x[labels == c].mean(axis=0) for c in range(labels.max() + 1)]
    sizes = [(labels == c).sum() for c in range(labels.max() + 1)]

    def costs(centers, sizes):
        return squared(x[free], np.array(centers)) * [n / (n + 1) for n in sizes]

    while len(centers) < k:
        cost = costs(centers, sizes).min(axis=1) if centers else np.ones(len(free))
        upto = (cost / cost.sum()).cumsum()
        tried = [x[free[np.flatnonzero(upto > u)[0]]] for u in random.random(2 + int(math.log(k)))]
        after = [costs([*centers, point], [*sizes, 1]).min(axis=1).sum() for point in tried]
        centers.append(tried[int(np.argmin(after))])
        sizes.append(1)
    clusters = labels.copy()
    clusters[free] = costs(centers, sizes).argmin(axis=1)
    return clusters


def plain_semi_supervised(features, labels, k, seed, n_init, tol=1e-4):
    """Everything in float64, every distance computed every time."""
    x, random, best = features.astype(np.float64), np.random.default_rng(seed), None
    for _ in range(n_init):
        clusters = plain_start(x, labels, k, random)
        centers = np.array([x[clusters == c].mean(axis=0) for c in range(k)])
        for _ in range(200):
            clusters = np.where(labels >= 0, labels, squared(x, centers).argmin(axis=1))
            before, centers = centers, np.array([x[clusters == c].mean(axis=0) for c in range(k)])
            if ((centers - before) ** 2).sum() <= tol * x.var(axis=0).mean():
                break
        clusters = np.where(labels >= 0, labels, squared(x, centers).argmin(axis=1))
        inertia = ((x - centers[clusters]) ** 2).sum()
        if best is None or inertia < best[2]:
            best = clusters, centers, inertia
    return best


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_the_same_optimum_as_the_plain_version(seed, labelled):
    points, labels = noisy(seed)
    features, labels = points + 3, labels if labelled else np.full(len(points), -1)
    found = semi_supervised_kmeans(features, labels, 8, seed, n_init=4)
    clusters, centers, inertia = plain_semi_supervised(features, labels, 8, seed, n_init=4)
    np.testing.assert_array_equal(found.labels, clusters)
    np.testing.assert_allclose(found.centers, centers, atol=1e-5)
    assert found.inertia == pytest.approx(inertia, rel=1e-6)


@pytest.mark.parametrize("dim", [3, 200])  # one start at a time, and six together
def test_starts_drawn_together_are_the_plain_ones(dim):
    points, labels = noisy(0, dim=dim, spread=1.5)
    order = np.argsort(labels < 0, kind="stable")
    points, labels = points[order], labels[order]
    run = _Run(points, labels[labels >= 0], k=8, n_known=4)
    random = np.random.default_rng(5)
    for start in run.seeding.starts(np.random.default_rng(5), 9):
        expected = plain_start(points.astype(np.float64), labels, 8, random)
        np.testing.assert_array_equal(start.clusters, expected[labels < 0])
        np.testing.assert_array_equal(start.clusters[start.drawn], [4, 5, 6, 7])


@given(st.integers(0, 1000), st.floats(0.01, 2))
@few
def test_following_moved_centers_finds_the_nearest_of_all(seed, step):
    random = np.random.default_rng(seed)
    points, centers = random.normal(size=(300, 4)).astype(np.float32), random.normal(size=(9, 4)).astype(np.float32)
    nearest = Nearest(points, (points**2).sum(axis=1), centers)
    for _ in range(8):
        moved = np.flatnonzero(random.random(9) < random.random())
        centers = centers.copy()
        centers[moved] += random.normal(size=(len(moved), 4)).astype(np.float32) * np.float32(step)
        nearest.follow(centers, moved)
        distances = squared(points, centers)
        np.testing.assert_array_equal(nearest.chosen, distances.argmin(axis=1))
        np.testing.assert_allclose(nearest.distances, distances.min(axis=1), atol=1e-4)


def test_following_looks_at_all_centers_for_few_points(monkeypatch):
    random = np.random.default_rng(0)
    points, centers = random.normal(size=(2000, 4)).astype(np.float32), random.normal(size=(20, 4)).astype(np.float32)
    nearest, looked = Nearest(points, (points**2).sum(axis=1), centers), []
    monkeypatch.setattr(nearest, "_look_again", lambda rows, centers: looked.append(len(rows)))
    moved = centers.copy()
    moved[:5] += np.float32(0.01)
    nearest.follow(moved, np.arange(5))
    assert looked[0] < 20


@given(st.integers(0, 1000), st.integers(1, 6))
@few
def test_means_are_those_of_the_clusters_asked_for(seed, n_wanted):
    random = np.random.default_rng(seed)
    points, clusters = random.normal(size=(400, 5)).astype(np.float32), random.choice(6, p=[0.5, *[0.1] * 5], size=400)
    wanted = random.permutation(6)[:n_wanted]
    expected = [points[clusters == c].mean(axis=0, dtype=np.float64) for c in wanted]
    np.testing.assert_allclose(cluster_means(points, clusters, wanted), expected, atol=3e-7)


def test_means_of_many_points_are_exact_to_float32():
    points = np.full((200_000, 2), 0.1, dtype=np.float32)  # added up one by one in float32 they would lose three digits
    np.testing.assert_allclose(cluster_means(points, np.zeros(200_000, dtype=np.int64), np.array([0])), 0.1, rtol=5e-7)


def test_features_are_left_as_they_were():
    points, labels = noisy(0)
    kept = points.copy()
    points.setflags(write=False)
    semi_supervised_kmeans(points, labels, 8, seed=0)
    np.testing.assert_array_equal(points, kept)


MEMORY = """
from pathlib import Path
import numpy as np
from legogcd.clustering import semi_supervised_kmeans

def megabytes(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024

random = np.random.default_rng(0)
semi_supervised_kmeans(random.normal(size=(500, 768)), np.arange(500) % 3 - 1, 20, seed=0)  # libraries are loaded
features = random.standard_normal((15_000, 768), dtype=np.float32)
rows = np.arange(len(features))
labels = np.where(rows % 10 == 0, rows // 10 % 180, -1)
before = megabytes("VmRSS")
semi_supervised_kmeans(features, labels, 200, seed=0, n_init=13, max_iter=1)
print(megabytes("VmHWM") - before, features.nbytes / 2**20)
"""


def test_memory_is_one_copy_and_a_quarter():
    # of 44 MB, and the libraries' own buffers; all differences at once would be 9 GB
    child = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    grown, features = map(float, child.stdout.split())
    assert features < grown < 1.25 * features + 20
