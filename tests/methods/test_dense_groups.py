"""New classes that start where images least like the known ones lie densest: what is found, and what if nothing is."""

import numpy as np
import pytest
import torch

from legogcd.clustering import directions
from legogcd.methods import build_method
from legogcd.methods.kmeans_start import kmeans_centers
from legogcd.methods.legogcd_plus.dense_groups import dense_groups, dense_start
from legogcd.methods.recipes.legogcd_plus import LegoGCDPlusRecipe

KNOWN, RARE, DIM = 4, 3, 24


def long_tailed(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Four wide classes of 60, eight labelled of each, and three tight ones of six: points, labels and the truth."""
    random = np.random.default_rng(seed)
    middles = directions(random.normal(size=(KNOWN + RARE, DIM)))
    truth = np.repeat(np.arange(KNOWN + RARE), [60] * KNOWN + [6] * RARE)
    spread = np.where(truth < KNOWN, 0.22, 0.04)[:, None]
    points = directions((middles[truth] + spread * random.normal(size=(len(truth), DIM))).astype(np.float32))
    labels = np.full(len(truth), -1)
    for known in range(KNOWN):
        labels[np.flatnonzero(truth == known)[:8]] = known
    return points, labels, truth


def found(centers: np.ndarray, points: np.ndarray, truth: np.ndarray) -> int:
    """How many rare classes have a center of their own, nearer than a wide class spreads."""
    return sum(
        bool((np.linalg.norm(centers[KNOWN:] - points[truth == rare].mean(axis=0), axis=1) < 0.2).any())
        for rare in range(KNOWN, KNOWN + RARE)
    )


@pytest.mark.parametrize("seed", range(3))
def test_tight_groups_apart_from_wide_ones_are_found(seed: int) -> None:
    points, labels, truth = long_tailed(seed)
    centers = dense_start(points, labels, KNOWN + RARE, KNOWN, seed, known_share=0.9).numpy()
    assert found(centers, points, truth) == RARE
    for known in range(KNOWN):
        assert np.allclose(centers[known], points[labels == known].mean(axis=0), atol=1e-6)


def test_the_largest_come_first_and_no_more_than_asked_for() -> None:
    points, labels, truth = long_tailed()
    keep = np.ones(len(points), bool)
    keep[np.flatnonzero(truth == KNOWN)[4:]] = False  # the first rare class has four left
    points, labels, truth = points[keep], labels[keep], truth[keep]
    known = np.stack([points[labels == one].mean(axis=0) for one in range(KNOWN)])
    groups = dense_groups(points, labels, known, most=2, known_share=0.9)
    assert len(groups) == 2
    smaller = points[truth == KNOWN].mean(axis=0)
    assert all(np.linalg.norm(group - smaller) > 0.3 for group in groups)


@pytest.mark.parametrize(
    ("most", "unlabelled", "known_share"), [(0, 50, 0.5), (3, 0, 0.5), (3, 3, 0.5), (1, 200, 1.0), (3, 200, 0.0)]
)
def test_there_may_be_none(most: int, unlabelled: int, known_share: float) -> None:
    points = directions(np.random.default_rng(0).normal(size=(unlabelled + 4, 5)).astype(np.float32))
    labels = np.concatenate([np.zeros(4, int), np.full(unlabelled, -1)])
    groups = dense_groups(points, labels, points[:4].mean(axis=0)[None], most, known_share)
    assert len(groups) <= most
    assert all(group.shape == (5,) and np.isfinite(group).all() for group in groups)


def test_without_dense_groups_the_start_is_that_of_kmeans() -> None:
    points, labels, _ = long_tailed()
    every = dense_start(points, np.where(labels < 0, -1, labels), KNOWN, KNOWN, 0, 1.0)
    plain = kmeans_centers(points, labels, KNOWN, KNOWN, 0, 1.0, exchange=True)
    assert np.allclose(every, plain, atol=1e-5)


def test_no_class_need_be_known() -> None:
    points, labels, _ = long_tailed()
    assert dense_start(points, np.full_like(labels, -1), 5, 0, 0, 0.0).shape == (5, DIM)


def test_the_setting_chooses_it() -> None:
    points, labels, truth = long_tailed()
    starts = []
    for new_from in ("groups", "density"):
        recipe = LegoGCDPlusRecipe(start="kmeans", new_from=new_from, projector_hidden=8, projector_out=4)
        method = build_method("legogcd+", DIM, KNOWN + RARE, KNOWN, recipe)
        method.start(points, labels, seed=0)
        starts.append(method.logits(torch.from_numpy(points)).argmax(-1).numpy())
    assert starts[0].shape == starts[1].shape == truth.shape
    assert not np.array_equal(*starts)
