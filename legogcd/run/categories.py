"""Which category an image is in, and which one a prototype stands for: what the run found, with the edits replayed.

predictions.csv stays as the run left it. Command line, Python, report, review and exports all ask here.

>>> import tempfile
>>> from legogcd.edits import Name, Undo
>>> folder = Path(tempfile.mkdtemp())
>>> _ = (folder / "predictions.csv").write_text(
...     "path,category,status,confidence,predicted\\n"
...     "a.jpg,owl,labelled,0.9000,owl\\n"
...     "b.jpg,new-001,novel,0.6000,new-001\\n"
... )
>>> edit = append_edit(folder, Name("new-001", "snowy owl"))
>>> current(folder)["category"].tolist()
['owl', 'snowy owl']
>>> Categories.of_run(folder, ["owl"], n_classes=2).names
('owl', 'snowy owl')
>>> _ = append_edit(folder, confirmation(folder, ["snowy owl"]))
>>> confirmed_labels(folder)
{'a.jpg': 'owl', 'b.jpg': 'snowy owl'}
>>> append_edit(folder, Undo())
Undo(of=2, edit='undo')
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd

from legogcd.collection.group_names import class_names
from legogcd.edits.edit import Aside, Confirm, Edit, Redo, Undo
from legogcd.edits.log import EditLog
from legogcd.edits.names import ASIDE
from legogcd.edits.phrases import described, log_lines, outcome_line
from legogcd.edits.state import State
from legogcd.run.discovery import read_predictions
from legogcd.run.folder import EDITS, PREDICTIONS, run_file


@dataclass(frozen=True, eq=False)
class Categories:
    """What K prototypes stand for: C categories, in the order of their first prototype."""

    names: tuple[str, ...]  # [C]
    known: np.ndarray  # [C] bool
    of_prototype: np.ndarray  # [K] which category each prototype stands for

    @classmethod
    def called(cls, prototypes: Sequence[tuple[str, bool]]) -> Self:
        """From the name of every prototype and whether it counts as known; those of one name are one category.

        >>> Categories.called([("owl", True), ("hawk", True), ("owl", False)]).of_prototype
        array([0, 1, 0])
        """
        names = tuple(dict.fromkeys(name for name, _ in prototypes))
        place = {name: number for number, name in enumerate(names)}
        known = {name for name, is_known in prototypes if is_known}
        return cls(names, np.array([n in known for n in names]), np.array([place[name] for name, _ in prototypes]))

    @classmethod
    def as_found(cls, known: Sequence[str], n_classes: int) -> Self:
        """As a run leaves them, before any edit."""
        return cls.called([(name, number < len(known)) for number, name in enumerate(class_names(known, n_classes))])

    @classmethod
    def of_run(cls, folder: Path, known: Sequence[str], n_classes: int) -> Self:
        """As they are after a run's edits: names and merges are followed, images split off change no prototype."""
        state = read_state(folder)
        return cls.called([state.now(name) for name in class_names(known, n_classes)])

    @property
    def status(self) -> np.ndarray:
        """known, novel, or rejected for a category that was set aside [C]."""
        aside = np.array([name == ASIDE and not known for name, known in zip(self.names, self.known, strict=True)])
        return np.where(aside, "rejected", np.where(self.known, "known", "novel"))

    def belief(self, probabilities: np.ndarray) -> np.ndarray:
        """Probabilities of prototypes [N, K] as those of categories [N, C]: prototypes of one category add up."""
        if len(self.names) == len(self.of_prototype):
            return probabilities
        belief = np.zeros((len(probabilities), len(self.names)), probabilities.dtype)
        np.add.at(belief.T, self.of_prototype, probabilities.T)
        return belief


def read_edits(folder: Path) -> list[Edit]:
    """The whole log of a run, edits that were taken back too; number n is line n."""
    return log_of(folder).edits()


def read_state(folder: Path) -> State:
    """Where every image of a run is now."""
    return log_of(folder).state()


def append_edit(folder: Path, edit: Edit) -> Edit:
    """Check an edit against the current state and write it to the run's log; returns it as it was written."""
    return log_of(folder).append(edit)


def log_of(folder: Path) -> EditLog:
    """The run's log, followed since it was first asked for: edits that were replayed once are not replayed again."""
    status = run_file(folder, PREDICTIONS).stat()
    return _followed(folder.absolute(), (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))


@lru_cache(maxsize=4)
def _followed(folder: Path, predictions: tuple[int, ...]) -> EditLog:
    """``predictions`` tells one state of predictions.csv from another."""
    return EditLog(folder / EDITS, lambda: State(read_predictions(folder)))


def current(folder: Path) -> pd.DataFrame:
    """The columns of predictions.csv after the edits, and ``confirmed``; rows in the order of predictions.csv.

    ``status`` follows the categories; ``confidence`` and ``predicted`` stay the model's.
    """
    return read_state(folder).frame()


def confirmed_labels(folder: Path) -> dict[str, str]:
    """Label by path: the run's given labels and the confirmed images, as their categories are called now."""
    return read_state(folder).labels()


def confirmation(folder: Path, categories: Sequence[str] = (), images: Sequence[str] = ()) -> Confirm:
    """The edit that confirms all images of ``categories``, and ``images``, as they are now."""
    return read_state(folder).confirmation(categories, images)


def setting_aside(folder: Path, categories: Sequence[str] = (), images: Sequence[str] = ()) -> Aside:
    """The edit that sets all images of ``categories``, and ``images``, aside."""
    return read_state(folder).setting_aside(categories, images)


def edit_lines(folder: Path) -> list[str]:
    """The run's edits with their numbers, for people."""
    return log_lines(read_edits(folder))


def summary_line(folder: Path, edit: Edit) -> str:
    """What to tell a person right after ``append_edit`` returned ``edit``."""
    if isinstance(edit, Undo):
        assert edit.of is not None
        return f"took back edit {edit.of}: {described(read_edits(folder)[edit.of - 1])}"
    if isinstance(edit, Redo):
        assert edit.of is not None
        return f"made edit {edit.of} again: {described(read_edits(folder)[edit.of - 1])}"
    return f"{outcome_line(edit, read_state(folder))}; undo with: legogcd undo {shlex.quote(str(folder))}"
