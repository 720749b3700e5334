"""Confidence that means what it says: one temperature and one threshold, found on labels kept out of training.

Guo et al., "On Calibration of Modern Neural Networks" (ICML 2017): dividing the logits by a scalar changes no
prediction and makes a probability p be right about p of the time.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]

BINS, IMAGES_A_BIN = 15, 10  # as usual in the literature, but fewer bins where images are few
LOWEST_THRESHOLD = 0.5  # less than even is never sure
_SURE = 0.9  # share of the held-out images above the threshold that must be right
_TINY = 1e-38


@dataclass(frozen=True)
class Calibration:
    """How probabilities are tempered, below what confidence an image counts as unsure, and how well that was tested.

    ``held_out`` images decided it; 0 means that nothing was held out and probabilities are the model's own. The errors
    are expected calibration errors on held-out images, before and after, each tempered by what the other half says.

    >>> Calibration(temperature=2.0).temper(np.array([[0.8, 0.2]])).round(3).tolist()
    [[0.667, 0.333]]
    """

    temperature: float = 1.0
    threshold: float = LOWEST_THRESHOLD
    held_out: int = 0
    accuracy: float | None = None
    error_before: float | None = None
    error: float | None = None

    def temper(self, probabilities: Floats) -> Floats:
        """Probabilities [N, K] with the logits behind them divided by the temperature."""
        if self.temperature == 1:
            return probabilities
        scores = np.log(np.maximum(probabilities, _TINY)) / self.temperature
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        tempered: Floats = (powers / powers.sum(axis=1, keepdims=True)).astype(probabilities.dtype)
        return tempered

    def unsure(self, confidence: Floats) -> NDArray[np.bool_]:
        """Which of some confidences [N] are too low to rely on."""
        return confidence < self.threshold


def calibrate(probabilities: Floats, labels: NDArray[np.int64]) -> Calibration:
    """The calibration that fits held-out images: their probabilities [N, K] and true classes [N]."""
    if not len(labels):
        return Calibration()
    found = Calibration(fit_temperature(probabilities, labels))
    right = probabilities.argmax(axis=1) == labels
    halves = (np.arange(len(labels)) % 2).astype(bool)
    crossed = np.empty(len(labels))
    for half in (halves, ~halves):
        fitted = Calibration(fit_temperature(probabilities[~half], labels[~half]))
        crossed[half] = fitted.temper(probabilities[half]).max(axis=1)
    return replace(
        found,
        threshold=choose_threshold(found.temper(probabilities).max(axis=1), right),
        held_out=len(labels),
        accuracy=float(right.mean()),
        error_before=expected_calibration_error(probabilities.max(axis=1), right),
        error=expected_calibration_error(crossed, right),
    )


def fit_temperature(probabilities: Floats, labels: NDArray[np.int64]) -> float:
    """The temperature under which the labels [N] are most likely, given probabilities [N, K].

    A standard normal prior on its logarithm decides where there is next to no evidence; without any it is 1.
    """
    from scipy.optimize import minimize_scalar

    if not len(labels):
        return 1.0
    scores = np.log(np.maximum(probabilities.astype(np.float64), _TINY))
    own = scores[np.arange(len(labels)), labels]

    def cost(log_temperature: float) -> float:
        scaled = scores / np.exp(log_temperature)
        top = scaled.max(axis=1)
        total = top + np.log(np.exp(scaled - top[:, None]).sum(axis=1))
        return float((total - own / np.exp(log_temperature)).sum() + log_temperature**2 / 2)

    found = minimize_scalar(cost, bounds=(-4.0, 4.0), method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x))


def choose_threshold(confidence: Floats, right: NDArray[np.bool_], sure: float = _SURE) -> float:
    """The lowest confidence from which on at least ``sure`` of the images [N] are right, but never below one half.

    Where not even the surest are right so often, it lies just above all of them: everything is unsure.

    >>> choose_threshold(np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, True, True, False]))
    0.7
    """
    order = np.argsort(-confidence, kind="stable")
    share = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    ends = np.append(confidence[order][1:] < confidence[order][:-1], True)  # equal confidences stand or fall together
    good = np.flatnonzero((share >= sure) & ends)
    if not good.size:
        return float(np.nextafter(confidence.max(), 2))
    return max(LOWEST_THRESHOLD, float(confidence[order][good[-1]]))


def expected_calibration_error(confidence: Floats, right: NDArray[np.bool_], bins: int | None = None) -> float:
    """Mean gap between confidence and accuracy over equal bins of confidence (0, 1], weighted by their images.

    There are 15 ``bins``, or one for every ten images if that is fewer: chance alone opens a gap in a bin of two.

    >>> right = np.array([True, True, True, False])
    >>> round(expected_calibration_error(np.array([0.9, 0.9, 0.6, 0.6]), right, bins=5), 3)
    0.1
    """
    bins = bins or max(1, min(BINS, len(confidence) // IMAGES_A_BIN))
    place = np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)
    gaps = np.bincount(place, weights=confidence - right, minlength=bins)
    return float(np.abs(gaps).sum() / max(1, len(confidence)))
