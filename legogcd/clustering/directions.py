"""Where features point, whatever their length."""

import numpy as np


def directions(features: np.ndarray) -> np.ndarray:
    """Features [N, D] at length 1; a zero stays zero.

    >>> directions(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    return np.asarray(features / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-12))
