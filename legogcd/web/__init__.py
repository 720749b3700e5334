"""The front-end parts that report.html and the review page share: modules, styles and the vendored map library."""

from legogcd.web.bundle import bundled_script, text_file
from legogcd.web.served import ServedFile, served_files

__all__ = ["ServedFile", "bundled_script", "served_files", "text_file"]
