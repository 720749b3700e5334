"""How strange an image is: a share of the run's own images, and false alarms as often as was said."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from legogcd.evaluation.strangers import nearest_distance, usual_distances


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.01, 0.05, 0.2]))
def test_as_many_images_that_belong_are_called_strangers_as_was_said(seed: int, rate: float) -> None:
    random = np.random.default_rng(seed)
    usual = usual_distances(random.normal(size=4000))
    assert usual is not None
    others = random.normal(size=20_000)  # of the same kind, not seen before
    assert usual.strangers(others, rate).mean() == pytest.approx(
        rate, abs=5 * (rate * (1 - rate) / 4000) ** 0.5
    )  # standard errors
    assert usual.strangers(random.normal(6, 1, 500), rate).mean() > 0.95


def test_strangeness_is_the_share_of_the_own_images_that_fit_better() -> None:
    random = np.random.default_rng(0)
    own, others = random.gamma(2, size=3000), random.gamma(3, size=200)
    usual = usual_distances(own)
    assert usual is not None
    counted = [(own < value).mean() for value in others]  # plainly
    np.testing.assert_allclose(usual.strangeness(others), counted, atol=0.005)
    assert (np.diff(usual.strangeness(np.sort(others))) >= 0).all()


def test_flag_and_score_agree() -> None:
    values = np.linspace(-1, 3, 401)
    usual = usual_distances(np.random.default_rng(1).normal(1, 0.5, 500))
    assert usual is not None
    away = np.abs(usual.strangeness(values) - 0.95) > 0.002
    np.testing.assert_array_equal(usual.strangers(values)[away], (usual.strangeness(values) > 0.95)[away])


def test_a_stranger_may_be_as_sure_of_the_wrong_category_as_an_image_that_belongs() -> None:
    """Both rows have the same probabilities; only one of them is near a prototype."""
    logits = np.array([[0.9, 0.2, 0.1], [0.75, 0.05, -0.05]])
    probabilities = np.exp(10 * logits) / np.exp(10 * logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(*probabilities)
    near, far = nearest_distance(logits)
    assert far > near + 0.1


def test_few_images_cannot_tell_what_is_usual() -> None:
    assert usual_distances(np.zeros(19)) is None
    assert usual_distances(np.zeros(20)) is not None
