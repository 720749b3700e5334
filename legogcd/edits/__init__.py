"""What a person says about a finished run: names, merges, splits and confirmations, in an append-only log.

The log is replayed the same way everywhere; `legogcd.run.categories` does it for a run folder.
"""

from legogcd.edits.edit import Change, Confirm, Edit, Merge, Name, Split, Undo
from legogcd.edits.phrases import described

__all__ = ["Change", "Confirm", "Edit", "Merge", "Name", "Split", "Undo", "described"]
