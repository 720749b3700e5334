"""Pictures and pages a person reads."""

from legogcd.report.class_count_chart import draw_class_count
from legogcd.report.contact_sheet import draw_contact_sheet
from legogcd.report.curves_chart import draw_curves
from legogcd.report.methods_chart import draw_comparison

__all__ = ["draw_class_count", "draw_comparison", "draw_contact_sheet", "draw_curves"]
