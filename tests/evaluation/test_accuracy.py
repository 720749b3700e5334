"""Clustering accuracy against every possible matching, the textbook square matrix, and the laws it must obey."""

from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from legogcd.errors import UserError
from legogcd.evaluation import clustering_accuracy

few = settings(max_examples=60, deadline=None)
pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=25).map(
    lambda rows: tuple(np.array(column) for column in zip(*rows, strict=True))
)


def every_matching(y_true, y_pred, n_known):
    """(all, old, new) hits of each one-to-one matching of clusters to classes, by plain loops."""
    clusters, classes = sorted(set(y_pred.tolist())), sorted(set(y_true.tolist()))
    places = classes + [None] * max(0, len(clusters) - len(classes))
    for image in set(permutations(places, len(clusters))):
        match = dict(zip(clusters, image, strict=True))
        hits = [match[p] == t for t, p in zip(y_true.tolist(), y_pred.tolist(), strict=True)]
        old = sum(hit for hit, t in zip(hits, y_true, strict=True) if t < n_known)
        yield sum(hits), old, sum(hits) - old


@given(pairs, st.integers(0, 4))
@few
def test_equals_the_best_of_every_matching(pair, n_known):
    y_true, y_pred = pair
    score = clustering_accuracy(y_true, y_pred, n_known)
    matchings = set(every_matching(y_true, y_pred, n_known))
    best = max(hits for hits, _, _ in matchings)
    n_old = int((y_true < n_known).sum())
    old = round(score.old * n_old) if n_old else 0
    new = round(score.new * (len(y_true) - n_old)) if n_old < len(y_true) else 0
    assert score.all == pytest.approx(best / len(y_true))
    assert (best, old, new) in matchings


def square_matrix_accuracy(y_true, y_pred):
    """The textbook way: one square matrix over all ids, cost = its maximum minus it."""
    size = max(y_true.max(), y_pred.max()) + 1
    matrix = np.zeros((size, size), dtype=int)
    for true, predicted in zip(y_true, y_pred, strict=True):
        matrix[predicted, true] += 1
    rows, columns = linear_sum_assignment(matrix.max() - matrix)
    return matrix[rows, columns].sum() / len(y_true)


@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 40))
@few
def test_equals_the_square_matrix_for_many_clusters_and_classes(seed, n_classes, n_clusters):
    random = np.random.default_rng(seed)
    y_true, y_pred = random.integers(n_classes, size=300), random.integers(n_clusters, size=300)
    assert clustering_accuracy(y_true, y_pred, 3).all == pytest.approx(square_matrix_accuracy(y_true, y_pred))


@given(pairs, st.permutations(range(5)), st.integers(0, 4))
@few
def test_names_of_clusters_do_not_matter_unless_several_matchings_are_best(pair, names, n_known):
    y_true, y_pred = pair
    plain = clustering_accuracy(y_true, y_pred, n_known)
    renamed = clustering_accuracy(y_true, np.array(names)[y_pred] * 1000 - 7, n_known)
    assert renamed.all == plain.all
    best = {hits[1:] for hits in every_matching(y_true, y_pred, n_known) if hits[0] == round(plain.all * len(y_true))}
    if len(best) == 1:
        np.testing.assert_equal((renamed.old, renamed.new), (plain.old, plain.new))


@given(pairs, st.integers(0, 4), st.randoms(use_true_random=False))
@few
def test_order_of_images_does_not_matter(pair, n_known, random):
    y_true, y_pred = pair
    order = list(range(len(y_true)))
    random.shuffle(order)
    plain, shuffled = (clustering_accuracy(t, p, n_known) for t, p in [pair, (y_true[order], y_pred[order])])
    np.testing.assert_equal(vars(shuffled), vars(plain))


@given(pairs, st.integers(0, 4))
@few
def test_all_is_the_weighted_mean_of_old_and_new(pair, n_known):
    y_true, y_pred = pair
    score = clustering_accuracy(y_true, y_pred, n_known)
    weight = (y_true < n_known).mean()
    assert score.all == pytest.approx(weight * np.nan_to_num(score.old) + (1 - weight) * np.nan_to_num(score.new))
    assert np.isnan(score.old) == (weight == 0)
    assert np.isnan(score.new) == (weight == 1)


def test_a_perfect_clustering_under_other_names_scores_one():
    y_true = np.repeat(np.arange(6), 5)
    score = clustering_accuracy(y_true, np.array(list("fbdace"))[y_true], n_known=4)
    assert (score.all, score.old, score.new) == (1, 1, 1)
    assert score.matching == {"f": 0, "b": 1, "d": 2, "a": 3, "c": 4, "e": 5}


def test_one_matching_over_all_images_serves_old_and_new():
    # cluster 0 holds three images of New class 1 and two of Old class 0: it goes to the New class, Old gets nothing
    score = clustering_accuracy([0, 0, 1, 1, 1], [0, 0, 0, 0, 0], n_known=1)
    assert (score.all, score.old, score.new) == (0.6, 0, 1)


def test_more_clusters_than_classes_and_the_reverse():
    split = clustering_accuracy([0, 0, 0, 1], [0, 0, 1, 2], n_known=1)
    assert (split.all, split.matching) == (0.75, {0: 0, 1: -1, 2: 1})
    merged = clustering_accuracy([0, 1, 1, 2], [9, 9, 9, 9], n_known=1)
    assert (merged.all, merged.old, merged.new, merged.matching) == (0.5, 0, pytest.approx(2 / 3), {9: 1})


def published_scores(y_true, y_pred, n_known):
    """(all, old, new) as the released evaluation counts them: one square table over all ids, each image looked up."""
    side = 1 + max(max(y_true), max(y_pred))
    seen = [[0] * side for _ in range(side)]
    for true, predicted in zip(y_true, y_pred, strict=True):
        seen[predicted][true] += 1
    most = max(map(max, seen))
    rows, columns = linear_sum_assignment(np.array([[most - cell for cell in row] for row in seen]))
    class_of = dict(zip(rows.tolist(), columns.tolist(), strict=True))
    right = [class_of[predicted] == true for true, predicted in zip(y_true, y_pred, strict=True)]
    parts = [
        [hit for hit, true in zip(right, y_true, strict=True) if wanted(true)]
        for wanted in (lambda _: True, lambda true: true < n_known, lambda true: true >= n_known)
    ]
    return tuple(sum(part) / len(part) if part else float("nan") for part in parts)


@given(pairs, st.integers(0, 4), st.integers(0, 3), st.integers(0, 3))
@settings(max_examples=300, deadline=None)
def test_of_equally_good_matchings_the_published_one_is_taken(pair, n_known, unused_clusters, unused_classes):
    """Few images in many cells: ties are the rule. Ids that no image has count, as in the published table."""
    y_true, y_pred = pair[0] + unused_classes, pair[1] + unused_clusters
    score = clustering_accuracy(y_true, y_pred, n_known)
    expected = published_scores(y_true.tolist(), y_pred.tolist(), n_known)
    np.testing.assert_allclose((score.all, score.old, score.new), expected)


def test_a_cluster_stands_for_no_class_it_has_no_image_of():
    score = clustering_accuracy([0, 0, 0, 1, 0], list("aaaab"), n_known=1)
    assert score.matching == {"a": 0, "b": -1}


def test_balanced_keeps_the_matching_and_weighs_classes_alike():
    y_true, y_pred = [0] * 8 + [1] * 2 + [2] * 4, [0] * 8 + [0, 1] + [2] * 3 + [1]
    plain = clustering_accuracy(y_true, y_pred, n_known=2)
    balanced = clustering_accuracy(y_true, y_pred, n_known=2, balanced=True)
    assert balanced.matching == plain.matching
    assert plain.all == pytest.approx(12 / 14)
    assert balanced.all == pytest.approx((1 + 0.5 + 0.75) / 3)
    assert (balanced.old, balanced.new) == (0.75, 0.75)


def test_lists_arrays_and_tensors_score_the_same():
    y_true, y_pred = [0, 1, 1, 2], [3, 3, 4, 4]
    scores = [clustering_accuracy(kind(y_true), kind(y_pred), 1) for kind in (list, np.array, torch.tensor)]
    assert scores[0] == scores[1] == scores[2]


@pytest.mark.parametrize(
    ("y_true", "y_pred", "n_known", "words"),
    [
        ([0, 1], [0], 1, "one of each"),
        ([], [], 1, "nothing to score"),
        ([0, -1], [0, 1], 1, "without a true class"),
        ([0.5, 1.0], [0, 1], 1, "whole numbers"),
        ([[0], [1]], [[0], [1]], 1, "shape"),
        ([0, 1], [0, 1], -1, "n_known"),
    ],
)
def test_what_cannot_be_scored_is_said(y_true, y_pred, n_known, words):
    with pytest.raises(UserError, match=words):
        clustering_accuracy(y_true, y_pred, n_known)
