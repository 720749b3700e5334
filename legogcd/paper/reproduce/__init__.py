"""The paper's tables, run or collected, with ours beside every figure."""

from legogcd.paper.reproduce.cells import Cell, Figures, PaperTable, paper_table, table_names
from legogcd.paper.reproduce.comparison import Comparison, compare_table
from legogcd.paper.reproduce.layout import row_report, to_csv, to_latex, to_markdown

__all__ = [
    "Cell",
    "Comparison",
    "Figures",
    "PaperTable",
    "compare_table",
    "paper_table",
    "row_report",
    "table_names",
    "to_csv",
    "to_latex",
    "to_markdown",
]
