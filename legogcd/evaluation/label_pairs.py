"""True classes and predicted clusters as two NumPy arrays of one length, from lists, arrays or tensors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from legogcd.errors import UserError


def label_pair(y_true: Any, y_pred: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Class ids [N] from 0 on and cluster ids [N] of any kind; raises where they cannot be scored."""
    classes, clusters = as_array(y_true), as_array(y_pred)
    if classes.ndim != 1 or classes.shape != clusters.shape:
        raise UserError(
            f"y_true has shape {list(classes.shape)} and y_pred {list(clusters.shape)}; expected one of each per image"
        )
    if classes.size == 0:
        raise UserError("there is nothing to score: y_true is empty")
    if classes.dtype.kind not in "iu":
        raise UserError(f"y_true has the type {classes.dtype}; expected whole numbers")
    if classes.min() < 0:
        raise UserError(f"y_true holds {classes.min()}; leave out the images without a true class")
    return classes.astype(np.int64), clusters


def as_array(values: Any) -> NDArray[Any]:
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    return np.asarray(values)
