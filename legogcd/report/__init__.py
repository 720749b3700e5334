"""Pictures and pages a person reads."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from legogcd.report.class_count_chart import draw_class_count
    from legogcd.report.contact_sheet import draw_contact_sheet
    from legogcd.report.curves_chart import draw_curves
    from legogcd.report.methods_chart import draw_comparison

__all__ = ["draw_class_count", "draw_comparison", "draw_contact_sheet", "draw_curves"]

_DRAWN_IN = {
    "draw_class_count": "class_count_chart",
    "draw_comparison": "methods_chart",
    "draw_contact_sheet": "contact_sheet",
    "draw_curves": "curves_chart",
}


def __getattr__(name: str) -> Any:
    """Imported on first use: the page does not wait for the library that draws the charts."""
    if name in _DRAWN_IN:
        return getattr(import_module(f"legogcd.report.{_DRAWN_IN[name]}"), name)
    raise AttributeError(f"module 'legogcd.report' has no attribute {name!r}")
