"""Pictures and pages a person reads."""

from legogcd.report.comparison import draw_comparison
from legogcd.report.contact_sheet import draw_contact_sheet
from legogcd.report.curves import draw_curves

__all__ = ["draw_comparison", "draw_contact_sheet", "draw_curves"]
