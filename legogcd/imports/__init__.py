"""What other tools decided, as edits of a run: CSV, Label Studio, FiftyOne."""

from legogcd.imports.importing import Imported, import_decisions, import_file

__all__ = ["Imported", "import_decisions", "import_file"]
