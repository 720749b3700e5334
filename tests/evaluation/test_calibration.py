"""Temperature scaling against data whose true temperature is known, and the errors against slow sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from legogcd.evaluation.calibration import (
    Calibration,
    calibrate,
    choose_threshold,
    expected_calibration_error,
    fit_temperature,
)


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def overconfident(temperature: float, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels drawn from softmax(z), and what a model says whose logits are ``temperature`` times too large."""
    random = np.random.default_rng(seed)
    scores = random.normal(0, 2, (count, 6))
    truth = softmax(scores)
    labels = np.array([random.choice(6, p=row) for row in truth])
    return softmax(temperature * scores), labels


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_the_temperature_that_made_the_data_is_found(temperature: float) -> None:
    probabilities, labels = overconfident(temperature, 4000)
    assert fit_temperature(probabilities, labels) == pytest.approx(temperature, rel=0.1)


def test_calibration_brings_the_error_down_on_images_it_has_not_seen() -> None:
    found = calibrate(*overconfident(3.0, 400))
    fresh, labels = overconfident(3.0, 4000, seed=1)
    right = fresh.argmax(1) == labels
    before = expected_calibration_error(fresh.max(1), right)
    after = expected_calibration_error(found.temper(fresh).max(1), right)
    assert before > 0.15
    assert after < 0.05
    assert found.error_before is not None
    assert found.error is not None
    assert found.error < found.error_before / 2


@given(st.floats(0.5, 10), st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_tempering_changes_no_prediction_and_keeps_rows_at_one(temperature: float, seed: int) -> None:
    probabilities = softmax(np.random.default_rng(seed).normal(0, 3, (20, 5)))
    tempered = Calibration(temperature).temper(probabilities)
    np.testing.assert_allclose(tempered.sum(1), 1, rtol=1e-9)
    np.testing.assert_array_equal(tempered.argmax(1), probabilities.argmax(1))
    np.testing.assert_allclose(Calibration(1 / temperature).temper(tempered), probabilities, atol=1e-9)


def test_probabilities_that_are_zero_stay_finite() -> None:
    certain = np.array([[1.0, 0.0, 0.0]], dtype=np.float32)
    tempered = Calibration(5.0).temper(certain)
    assert np.isfinite(tempered).all()
    assert tempered.dtype == np.float32
    assert fit_temperature(certain, np.array([1])) > 1  # sure and wrong: cooler heads


def test_little_evidence_moves_little_and_none_nothing() -> None:
    probabilities, labels = overconfident(1.0, 3)
    assert 0.3 < fit_temperature(probabilities, labels) < 3
    assert calibrate(np.empty((0, 4)), np.empty(0, np.int64)) == Calibration()


def test_one_right_held_out_image_does_not_make_the_model_certain() -> None:
    found = calibrate(np.array([[0.6, 0.4]]), np.array([0]))
    assert found.temper(np.array([[0.6, 0.4]])).max() < 0.8


def slow_error(confidence: np.ndarray, right: np.ndarray, bins: int) -> float:
    total = 0.0
    for number in range(bins):
        inside = [
            i for i, c in enumerate(confidence) if number / bins < c <= (number + 1) / bins or (c == 0 and number == 0)
        ]
        if inside:
            gap = np.mean([confidence[i] for i in inside]) - np.mean([right[i] for i in inside])
            total += abs(gap) * len(inside) / len(confidence)
    return total


@given(st.integers(0, 10_000), st.integers(1, 60))
@settings(max_examples=25, deadline=None)
def test_the_error_is_the_weighted_mean_gap_over_bins(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    confidence, right = random.random(count), random.random(count) < 0.5
    assert expected_calibration_error(confidence, right, 10) == pytest.approx(slow_error(confidence, right, 10))


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_above_the_threshold_enough_are_right_and_it_is_the_lowest_such(seed: int) -> None:
    random = np.random.default_rng(seed)
    confidence = np.round(0.5 + random.random(30) / 2, 2)  # ties happen
    right = random.random(30) < confidence
    threshold = choose_threshold(confidence, right, sure=0.8)
    shares = {c: right[confidence >= c].mean() for c in confidence}
    good = [c for c, share in shares.items() if share >= 0.8]
    assert threshold == pytest.approx(min(good) if good else confidence.max())
    if not good:
        assert Calibration(threshold=threshold).unsure(confidence).all()


def test_less_than_even_is_never_sure() -> None:
    assert choose_threshold(np.array([0.9, 0.3]), np.array([True, True])) == 0.5
