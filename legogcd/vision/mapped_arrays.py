"""Arrays of so many images that they lie in a file which goes away with them: the system keeps of it what fits."""

import math
import os
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np
from numpy.typing import DTypeLike, NDArray

LARGE = 64 << 20  # bytes from which an array leaves the memory


def large_zeros(shape: tuple[int, ...], dtype: DTypeLike, folder: Path | None) -> NDArray[np.generic]:
    """Zeros; where they take much, in a file in ``folder``, if there is one and it has the room."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size >= LARGE and folder is not None and hasattr(os, "posix_fallocate"):
        try:
            with TemporaryFile(dir=folder) as file:
                os.posix_fallocate(file.fileno(), 0, size)  # a disk that fills up later would end the process
                return np.memmap(file, dtype, "r+", shape=shape)
        except OSError:
            pass
    return np.zeros(shape, dtype)
