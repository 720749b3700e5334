"""The images of a run in the groups of now, and how much the model believes in each group for each image."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from legogcd.run.categories import Categories


@dataclass(frozen=True)
class GroupedImages:
    """N images in G groups, known ones first, as they are called after the user's edits."""

    names: tuple[str, ...]  # of the images
    groups: tuple[str, ...]
    known: np.ndarray  # [G] bool
    group: np.ndarray  # [N] where each image is: its label if it has one, else what the model says
    belief: np.ndarray  # [N, G] the model's probability of each group
    predicted: np.ndarray  # [N] the group with the most of it
    learned: np.ndarray  # [G] bool; False for a group split off by hand, of which the model knows nothing
    labelled: np.ndarray  # [N] bool; labels given to the run and confirmed ones
    strangeness: np.ndarray | None = None  # [N] the share of usual images that fit better; None: the run cannot tell

    @cached_property
    def confidence(self) -> np.ndarray:
        """The probability of the most likely group [N]."""
        best: np.ndarray = self.belief.max(1).astype(float)
        return best

    @cached_property
    def certainty(self) -> np.ndarray:
        """How much of the model's belief is in the group an image is in [N]; nothing to say of a group it never saw."""
        own = self.belief[np.arange(len(self.group)), self.group].astype(float)
        return np.where(self.learned[self.group], own, self.confidence)

    def members(self, group: int) -> np.ndarray:
        """The images of a group."""
        return np.flatnonzero(self.group == group)


def group_images(
    now: pd.DataFrame, categories: Categories, probabilities: np.ndarray, strangeness: np.ndarray | None = None
) -> GroupedImages:
    """Put a run's table after the edits, what its prototypes stand for now, and the probabilities [N, K] together.

    A group is a category with an image in it; what the model believes of emptied ones is left out.
    """
    present = set(now["category"])
    is_known = set(now["category"][now["status"] != "novel"])
    ordered = [name for name in categories.names if name in present]
    ordered += sorted(present.difference(ordered))
    groups = [name for name in ordered if name in is_known] + [name for name in ordered if name not in is_known]
    place = {name: number for number, name in enumerate(groups)}
    belief = np.zeros((len(now), len(groups)), probabilities.dtype)
    for column, name in zip(categories.belief(probabilities).T, categories.names, strict=True):
        if name in place:
            belief[:, place[name]] = column
    return GroupedImages(
        names=tuple(now["path"]),
        groups=tuple(groups),
        known=np.array([name in is_known for name in groups]),
        group=np.array([place[name] for name in now["category"]]),
        belief=belief,
        predicted=belief.argmax(1),
        learned=np.array([name in categories.names for name in groups]),
        labelled=((now["status"] == "labelled") | now["confirmed"]).to_numpy(bool),
        strangeness=strangeness,
    )
