"""What a person says about a finished run: names, merges, splits and confirmations, in an append-only log.

predictions.csv stays as the run left it; the current state is predictions.csv with the edits replayed.

>>> import tempfile
>>> folder = Path(tempfile.mkdtemp())
>>> _ = (folder / "predictions.csv").write_text(
...     "path,category,status,confidence,predicted\\n"
...     "a.jpg,owl,labelled,0.9000,owl\\n"
...     "b.jpg,new-001,novel,0.6000,new-001\\n"
... )
>>> edit = append_edit(folder, Name("new-001", "snowy owl"))
>>> current(folder)["category"].tolist()
['owl', 'snowy owl']
>>> _ = append_edit(folder, confirmation(folder, ["snowy owl"]))
>>> confirmed_labels(folder)
{'a.jpg': 'owl', 'b.jpg': 'snowy owl'}
>>> append_edit(folder, Undo())
Undo(of=2, edit='undo')
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from legogcd.edits.edit import Change, Confirm, Edit, Merge, Name, Split, Undo
from legogcd.edits.log import EDITS, append_edit, read_edits, read_state
from legogcd.edits.phrases import described, log_lines, summary_line

__all__ = [
    "EDITS",
    "Change",
    "Confirm",
    "Edit",
    "Merge",
    "Name",
    "Split",
    "Undo",
    "append_edit",
    "confirmation",
    "confirmed_labels",
    "current",
    "described",
    "log_lines",
    "named_now",
    "read_edits",
    "summary_line",
]


def current(folder: Path) -> pd.DataFrame:
    """The columns of predictions.csv after the edits, and ``confirmed``; rows in the order of predictions.csv.

    ``status`` follows the categories; ``confidence`` and ``predicted`` stay the model's.
    """
    return read_state(folder).frame()


def named_now(folder: Path, categories: Sequence[str]) -> list[tuple[str, bool]]:
    """What categories of the run are called after its names and merges, and whether each counts as known."""
    state = read_state(folder)
    return [state.now(category) for category in categories]


def confirmed_labels(folder: Path) -> dict[str, str]:
    """Label by path: the run's given labels and the confirmed images, as their categories are called now."""
    return read_state(folder).labels()


def confirmation(folder: Path, categories: Sequence[str] = (), images: Sequence[str] = ()) -> Confirm:
    """The edit that confirms all images of ``categories``, and ``images``, as they are now."""
    return read_state(folder).confirmation(categories, images)
