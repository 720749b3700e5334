"""Which images a page is about where there are too many for one: some of every group, and others at random."""

import numpy as np
import pandas as pd

from legogcd.run.memory_need import MOST_SHOWN, SAMPLED
from legogcd.wording import counted

_OF_EACH = 5  # images of a group at least, where it has so many


def sampled_rows(categories: pd.Series, most: int = MOST_SHOWN, count: int = SAMPLED) -> np.ndarray | None:
    """Positions of the images shown, ascending; None where all of them are. The same images give the same sample.

    >>> sampled_rows(pd.Series(["owl"] * 8 + ["hawk"]), most=8, count=7).tolist()[-1]
    8
    """
    if len(categories) <= most:
        return None
    order = np.random.default_rng(0).permutation(len(categories))
    shuffled = categories.iloc[order].reset_index(drop=True)
    first = (shuffled.groupby(shuffled, sort=False).cumcount() < _OF_EACH).to_numpy()
    ranked = np.concatenate([order[first], order[~first]])
    return np.asarray(np.sort(ranked[:count]))


def sample_sentence(shown: int, whole: int) -> str:
    """What to say of a page that shows a sample."""
    return (
        f"This page is about a sample: {shown:,} of {counted(whole, 'image')}, at least {_OF_EACH} of every group and "
        "others at random. The counts at the top are those of all images; sizes of groups, findings and the map are "
        "those of the sample. predictions.csv has every image."
    )
