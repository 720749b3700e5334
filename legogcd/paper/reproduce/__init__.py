"""The paper's tables, run or collected, with ours beside every figure."""

from legogcd.paper.reproduce.beside_published import TableComparison, compare_table
from legogcd.paper.reproduce.layout import row_report, to_csv, to_latex, to_markdown
from legogcd.paper.reproduce.published_tables import Cell, Figures, PaperTable, paper_table, table_names

__all__ = [
    "Cell",
    "Figures",
    "PaperTable",
    "TableComparison",
    "compare_table",
    "paper_table",
    "row_report",
    "table_names",
    "to_csv",
    "to_latex",
    "to_markdown",
]
