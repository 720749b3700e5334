"""The report of a run: one HTML file that opens from disk, with no network."""

from legogcd.report.page.assemble import PageImages, build_report
from legogcd.report.page.write import report_outcome, report_run

__all__ = ["PageImages", "build_report", "report_outcome", "report_run"]
