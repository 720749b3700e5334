"""Where features point, whatever their length."""

import numpy as np

_ROWS = 4096  # at a time: nothing but the result is as large as the features


def directions(features: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Features [N, D] at length 1; a zero stays zero. They are written to ``out``, which may be the features, if given.

    >>> directions(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    if out is None:
        out = np.empty_like(features, np.result_type(features, np.float32))
    for begin in range(0, len(features), _ROWS):
        some = features[begin : begin + _ROWS]
        out[begin : begin + _ROWS] = some / np.maximum(np.linalg.norm(some, axis=1, keepdims=True), 1e-12)
    return out
