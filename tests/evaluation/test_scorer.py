"""The scores of an epoch, agreement of partitions and forgetting."""

from itertools import combinations
from math import comb, isnan, log, nan

import numpy as np
import pytest

from legogcd.errors import UserError
from legogcd.evaluation import Scorer, agreement, clustering_accuracy, forgetting


def slow_agreement(y_true, y_pred):
    """NMI and ARI by their definitions: entropies of counts, and counting pairs."""
    n = len(y_true)

    def entropy(*columns):
        rows = list(zip(*columns, strict=True))
        return -sum(rows.count(r) / n * log(rows.count(r) / n) for r in set(rows))

    h_true, h_pred = entropy(y_true), entropy(y_pred)
    nmi = (h_true + h_pred - entropy(y_true, y_pred)) / ((h_true + h_pred) / 2)
    together = [(y_true[i] == y_true[j], y_pred[i] == y_pred[j]) for i, j in combinations(range(n), 2)]
    both, a, b = (sum(map(f, together)) for f in (all, lambda t: t[0], lambda t: t[1]))
    expected = a * b / comb(n, 2)
    return nmi, (both - expected) / ((a + b) / 2 - expected)


def test_agreement_follows_the_definitions():
    random = np.random.default_rng(0)
    y_true = random.integers(4, size=40).tolist()
    y_pred = [(t + int(random.random() < 0.3)) % 5 for t in y_true]
    assert agreement(y_true, y_pred) == pytest.approx(slow_agreement(y_true, y_pred))


def test_scorer_scores_only_images_with_a_true_class():
    truth = np.array([0, -1, 1, 2, 2, -1, 0])
    predictions = np.array([5, 2, 5, 7, 8, 8, 5])
    kept = truth >= 0
    expected = clustering_accuracy(truth[kept], predictions[kept], n_known=2)
    scores = Scorer(truth, n_known=2)(predictions)
    assert list(scores) == ["all", "old", "new", "nmi", "ari"]
    assert [scores[part] for part in ("all", "old", "new")] == [expected.all, expected.old, expected.new]
    assert (scores["nmi"], scores["ari"]) == agreement(truth[kept], predictions[kept])
    predictions[~kept] = 100
    assert Scorer(truth, n_known=2)(predictions) == scores


def test_a_balanced_scorer_weighs_classes_alike():
    truth, predictions = np.array([0, 0, 0, 1, -1]), np.array([0, 0, 0, 0, 1])
    assert Scorer(truth, n_known=2)(predictions)["all"] == 0.75
    assert Scorer(truth, n_known=2, balanced=True)(predictions)["all"] == 0.5


def test_scorer_says_what_it_cannot_score():
    with pytest.raises(UserError, match="nothing to score"):
        Scorer(np.array([-1, -1]), n_known=1)
    with pytest.raises(UserError, match="one per image"):
        Scorer(np.array([0, 1]), n_known=1)(np.array([0]))


def test_forgetting_is_the_best_epoch_minus_the_last():
    assert forgetting([0.4, 0.7, 0.6, 0.5]) == pytest.approx(0.2)
    assert forgetting([0.4, 0.5, 0.6]) == 0
    assert forgetting(np.array([nan, 0.7, nan, 0.6])) == pytest.approx(0.1)
    assert forgetting([0.7, 0.6, nan]) == pytest.approx(0.1)
    assert isnan(forgetting([]))
    assert isnan(forgetting([nan, nan]))
