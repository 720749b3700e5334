"""What is doubtful about a run, in words for a person with photos, and the one command to try: one place decides.

The summary of `discover` and the report say the same.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from legogcd.clustering import directions
from legogcd.clustering.alike_groups import alike_groups
from legogcd.evaluation.calibration import Calibration
from legogcd.run.config import RunConfig
from legogcd.run.effort import BUILT_IN, HARD
from legogcd.run.options import RunOptions
from legogcd.wording import counted, percent, some_of

TRY = "try:"  # before a command
FEW_IMAGES = 5  # a new group with fewer may be no kind at all
FEW_LABELS = 5  # a known category with fewer examples is hard to tell from others
ENOUGH_HELD_OUT = 20  # labels that training did not see, to tell from them how hard categories are to tell apart
_NAMED = 3  # groups that are named in a line


@dataclass(frozen=True)
class Doubt:
    """Something to be careful about, and the command that may help; a run's most important doubt comes first."""

    sentence: str
    command: str


def doubt_lines(doubts: Sequence[Doubt]) -> list[str]:
    """One line for each doubt, and the one command to try first; nothing where nothing is doubtful."""
    if not doubts:
        return []
    return [*(f"doubtful: {doubt.sentence}" for doubt in doubts), f"{TRY} {doubts[0].command}"]


def find_doubts(
    run: Path, table: pd.DataFrame, config: RunConfig, features: np.ndarray | None, checked: Calibration
) -> list[Doubt]:
    """What is doubtful about a run, the most important first.

    ``table`` has the columns of predictions.csv, ``features`` [N, D] are those of its images (None: of too many),
    ``checked`` is what labels said that training did not see.
    """
    images = config.images.root
    found = [
        _few_labels(run, table, config.known),
        _hard(run, checked, config.options, images),
        _alike(run, table, features),
        _number(run, config.estimated, images),
        _small_groups(run, table, images),
    ]
    return [doubt for doubt in found if doubt is not None]


def _few_labels(run: Path, table: pd.DataFrame, known: Sequence[str]) -> Doubt | None:
    labelled = table["category"][table["status"] == "labelled"].value_counts()
    few = sorted((name for name in known if labelled.get(name, 0) < FEW_LABELS), key=lambda n: labelled.get(n, 0))
    if not few:
        return None
    return Doubt(
        f"{len(few)} of {counted(len(known), 'known class')} had fewer than {FEW_LABELS} labelled images "
        f"({some_of(few, _NAMED)}): look at what was put there, and confirm what is right",
        f"legogcd confirm {_quoted(run)} {_quoted(few[0])}",
    )


def _hard(run: Path, checked: Calibration, options: RunOptions, images: str | None) -> Doubt | None:
    """More effort, where it can be had, for known categories that are hard to tell apart."""
    one_network = options.recipe == "default" and options.protocol.backbone == BUILT_IN
    found = checked.accuracy if checked.held_out >= ENOUGH_HELD_OUT else None
    if not one_network or found is None or found >= HARD:
        return None
    return Doubt(
        f"of {checked.held_out} labels that training did not see it found {percent(found)} %: these categories are "
        "hard to tell apart, and three networks side by side may do better",
        _again(run, images, "--effort", "thorough"),
    )


def _alike(run: Path, table: pd.DataFrame, features: np.ndarray | None) -> Doubt | None:
    if features is None:
        return None
    is_known = set(table["category"][table["status"] != "novel"])
    names = sorted(set(table["category"]), key=lambda name: (name not in is_known, name))
    place = {name: number for number, name in enumerate(names)}
    group = table["category"].map(place).to_numpy(np.int64)
    pairs = alike_groups(directions(np.asarray(features, np.float32)), group, len(names), len(is_known))
    if not pairs:
        return None
    first, second = (names[number] for number in pairs[0][:2])
    more = f" (and {counted(len(pairs) - 1, 'other pair')})" if len(pairs) > 1 else ""
    return Doubt(
        f"{first!r} and {second!r} look like one kind in two groups{more}",
        f"legogcd merge {_quoted(run)} {_quoted(first)} {_quoted(second)}",
    )


def _number(run: Path, interval: tuple[int, int] | None, images: str | None) -> Doubt | None:
    if interval is None or interval[0] == interval[1]:
        return None
    low, high = interval
    return Doubt(
        f"the number of categories is an estimate; anything from {low} to {high} fits these images",
        _again(run, images, "--classes", str(high)),
    )


def _small_groups(run: Path, table: pd.DataFrame, images: str | None) -> Doubt | None:
    sizes = table["category"][table["status"] == "novel"].value_counts()
    small = sorted(sizes.index[sizes < FEW_IMAGES])
    if not small:
        return None
    rest = table["category"].nunique() - len(small)
    return Doubt(
        f"{counted(len(small), 'new group')} of fewer than {FEW_IMAGES} images ({some_of(small, _NAMED)}): "
        f"something rare, or no kind of its own",
        _again(run, images, "--classes", str(rest)),
    )


def _again(run: Path, images: str | None, option: str, value: str) -> str:
    """The command for another run of the same images and labels with one option changed."""
    out = run.with_name(f"{run.name}-{value}")
    return f"legogcd discover {_quoted(images or 'IMAGES')} --from {_quoted(run)} {option} {value} --out {_quoted(out)}"


def _quoted(text: object) -> str:
    return shlex.quote(str(text))
