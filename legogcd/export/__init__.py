"""A run in the formats other tools read; the images are linked, copied or named, never moved or changed."""

from typing import TYPE_CHECKING, Any

from legogcd.export.format import Format
from legogcd.export.formats import FORMATS
from legogcd.export.items import Include
from legogcd.export.placing import Link

if TYPE_CHECKING:
    from legogcd.export.exporting import Exported, export_run

__all__ = ["FORMATS", "Exported", "Format", "Include", "Link", "export_run"]


def __getattr__(name: str) -> Any:
    if name in __all__:  # imported on first use: `legogcd --help` lists the formats and need not wait for pandas
        from legogcd.export import exporting

        return getattr(exporting, name)
    raise AttributeError(f"module 'legogcd.export' has no attribute {name!r}")
