"""What a person says about a finished run: names, merges, moves, confirmations and more, in an append-only log.

The log is replayed the same way everywhere; `legogcd.run.categories` does it for a run folder.
"""

from legogcd.edits.edit import Aside, Change, Confirm, Edit, Merge, Move, Name, Redo, Several, Split, Undo
from legogcd.edits.names import ASIDE
from legogcd.edits.phrases import described

__all__ = [
    "ASIDE",
    "Aside",
    "Change",
    "Confirm",
    "Edit",
    "Merge",
    "Move",
    "Name",
    "Redo",
    "Several",
    "Split",
    "Undo",
    "described",
]
