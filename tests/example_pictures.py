"""A small collection of pictures that are easy to tell apart."""

from pathlib import Path

import numpy as np
from PIL import Image

COLORS = {"blue": (40, 60, 220), "green": (30, 190, 60), "red": (220, 40, 40), "yellow": (230, 220, 50)}


def write_pictures(folder: Path, per_class: int = 8, size: int = 40) -> Path:
    """One sub-folder per color, noisy squares in it: easy to tell apart even for random features."""
    random = np.random.default_rng(0)
    for name, color in COLORS.items():
        (folder / name).mkdir(parents=True)
        for number in range(per_class):
            noise = random.normal(0, 25, (size, size, 3))
            pixels = np.clip(np.array(color) + noise, 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{number:02d}.png")
    return folder
