"""How many unlabelled images are of known classes: against mixtures whose share is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from legogcd.methods.legogcd_plus.known_share import known_share, shares_of_positives


def mixture(seed, share, labelled=20, unlabelled=1500, classes=10, n_known=5, dim=16, spread=0.5):
    """Points around class means; ``share`` of the unlabelled are of known classes."""
    random = np.random.default_rng(seed)
    means = random.normal(size=(classes, dim))
    of_known = round(share * unlabelled)
    truth = np.concatenate(
        [
            np.repeat(np.arange(n_known), labelled),
            random.integers(n_known, size=of_known),
            random.integers(n_known, classes, size=unlabelled - of_known),
        ]
    )
    labels = np.where(np.arange(len(truth)) < n_known * labelled, truth, -1)
    return means[truth] + spread * random.normal(size=(len(truth), dim)), labels


@pytest.mark.parametrize("share", [0.05, 0.33, 0.6, 0.9, 1.0])
@pytest.mark.parametrize(("labelled", "error"), [(10, 0.08), (100, 0.03)])
def test_the_share_of_a_mixture_is_found(share, labelled, error):
    found = [known_share(*mixture(seed, share, labelled), seed) for seed in range(8)]
    assert np.mean(found) == pytest.approx(share, abs=error)


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_new_classes_that_look_like_known_ones_do_not_pass_for_known(share):
    """Where classes overlap, many images of new ones are as near to a known mean as its own images are."""
    found = [
        known_share(*mixture(seed, share, 60, 2400, classes=40, n_known=20, spread=1.6), seed) for seed in range(4)
    ]
    assert np.mean(found) == pytest.approx(share, abs=0.12)


def test_a_whitening_that_has_seen_the_left_out_labels_would_be_too_sure():
    # few labels in many dimensions: images that shaped the whitening lie near their mean, the unlabelled do not
    points, labels = mixture(3, share=0.9, labelled=4, dim=60, spread=1.5)
    assert known_share(points, labels, 0) > 0.5


@pytest.mark.parametrize("per_class", [0, 1])
def test_too_few_labels_tell_nothing(per_class):
    points, labels = mixture(0, 0.5, labelled=5)
    for known in range(5):
        labels[np.flatnonzero(labels == known)[per_class:]] = -1
    assert known_share(points, labels, 0) is None


def test_nothing_unlabelled_tells_nothing():
    points, labels = mixture(0, 0.5)
    assert known_share(points[labels >= 0], labels[labels >= 0], 0) is None


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 1.0), st.integers(5, 60))
def test_positives_that_no_negative_reaches_give_their_exact_share(seed, share, n):
    positives = np.random.default_rng(seed).random(n)
    negatives = round(n / share) - n
    mixed = np.concatenate([positives, -1 - np.arange(negatives)])
    assert shares_of_positives(positives, mixed) == pytest.approx([n / len(mixed)])


@given(st.integers(0, 2**32 - 1))
def test_negatives_can_only_raise_the_share_and_order_is_all_that_counts(seed):
    random = np.random.default_rng(seed)
    positives, negatives = random.normal(1, 1, size=40), random.normal(-1, 1, size=60)
    (found,) = shares_of_positives(positives, np.concatenate([positives, negatives]))
    assert 0.4 - 1e-9 <= found <= 1
    assert shares_of_positives(np.exp(positives), np.exp(np.concatenate([positives, negatives]))) == [found]
