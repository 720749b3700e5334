"""The ``reproduce`` verb of the command line. Heavy imports wait until it is called."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from legogcd.cli import options as o
from legogcd.cli.datasets import ROOT_VARIABLE
from legogcd.cli.volume import display as show
from legogcd.errors import UserError
from legogcd.run.options import RunOptions

if TYPE_CHECKING:
    from legogcd.evaluation.results import ResultBook
    from legogcd.paper.reproduce.protocol import Protocol
    from legogcd.paper.reproduce.published_tables import Cell


_BY_PROTOCOL = ("epochs", "backbone", "image_size")
_CHANGEABLE = o.Only(*_BY_PROTOCOL, "settings", "views", "machine", unset=_BY_PROTOCOL)


class Form(StrEnum):
    markdown = "markdown"
    csv = "csv"
    latex = "latex"


@o.spelled_out
def reproduce(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="A data set (see `legogcd datasets`), or table1, table2, table3, table4, ablation-blocks, "
            "ablation-beta, ablation-threshold or seeds.",
        ),
    ],
    options: Annotated[RunOptions, _CHANGEABLE],
    root: Annotated[
        Path | None,
        typer.Option(envvar=ROOT_VARIABLE, help="A data set's folder, or one that holds several. Not with --collect."),
    ] = None,
    method: Annotated[
        str, typer.Option(help="For a data set: names from `legogcd methods`, with commas between.")
    ] = "simgcd,legogcd",
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, from 0 up, where the paper names none.")] = 3,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="A cut-down run for a laptop: at most 10,000 images of a split (stratified), 128 pixels, 20 epochs, "
            "EfficientNet-Lite0.",
        ),
    ] = False,
    collect: Annotated[bool, typer.Option("--collect", help="Run nothing; show what the results hold.")] = False,
    form: Annotated[Form, typer.Option("--format", help="How the table is printed.")] = Form.markdown,
    out: Annotated[Path, typer.Option(help="Folder for reproduce.csv and the runs.")] = Path("results"),
    images: Annotated[int | None, typer.Option(min=1, help="Most images of a split; default: all.")] = None,
) -> None:
    """Run the paper's experiments on your copies of its data sets and print ours beside its figures.

    A data set: legogcd reproduce cub --root DIR --method kmeans,simgcd,legogcd --seeds 3

    A table: legogcd reproduce table2 --root DIR runs what its data sets under DIR allow and results lack, then prints
    it; with --collect it prints what is there.

    Every run is scored on the unlabelled images each epoch and on the test split at the end; the last epoch counts.
    An interrupted command goes on where it stopped.
    """
    from legogcd.evaluation.results import ResultBook
    from legogcd.paper.reproduce import paper_table, row_report, table_names
    from legogcd.paper.reproduce.published_tables import Cell

    book = ResultBook(out / "reproduce.csv")
    methods = _methods(method)
    is_table = what in table_names()
    cells = paper_table(what).cells if is_table else [Cell(_dataset(what), name) for name in methods]
    if not collect and what != "table1":
        protocol = _protocol(root, quick, images, options)
        _check(cells, protocol)
        _run_missing(_runnable(cells, protocol), seeds, protocol, book, out / "runs")
    if is_table:
        typer.echo(_table(what, form, book, root), nl=False)
    elif form is Form.markdown:
        typer.echo(row_report(what, methods, book.rows), nl=False)
    else:
        typer.echo(_rows(what, methods, form, book), nl=False)


def _methods(text: str) -> list[str]:
    from legogcd.methods import check_method, split_methods

    names = [check_method(name) for name in split_methods(text)]
    if not names:
        raise UserError("--method names no method; see `legogcd methods`")
    return names


def _dataset(name: str) -> str:
    from legogcd.paper.datasets import DATASETS
    from legogcd.paper.reproduce import table_names

    if name not in DATASETS:
        raise UserError(
            f"unknown data set or table {name!r}; there are: {', '.join(DATASETS)}; {', '.join(table_names())}"
        )
    return name


def _protocol(root: Path | None, quick: bool, images: int | None, options: RunOptions) -> "Protocol":
    from legogcd.paper.reproduce.protocol import PUBLISHED, QUICK, QUICK_IMAGES, Protocol

    if root is None:
        raise UserError(f"--root is needed: the folder of the data sets (or set {ROOT_VARIABLE}); see legogcd datasets")
    usual = (QUICK if quick else PUBLISHED).model_dump(include=set(_BY_PROTOCOL))
    chosen = options.model_dump(include=options.model_fields_set)
    return Protocol(root, PUBLISHED.changed(**(usual | chosen)), images or (QUICK_IMAGES if quick else None))


def _check(cells: "list[Cell]", protocol: "Protocol") -> None:
    """Refuse a setting that one of the methods lacks, and a backbone that is not there."""
    from legogcd.run.arguments import check_options

    for cell in cells:
        check_options(protocol.options_of(cell))


def _runnable(cells: "list[Cell]", protocol: "Protocol") -> "list[Cell]":
    """The cells whose data sets are there; those that are not are named."""
    from legogcd.paper.datasets import dataset_named

    named = list(dict.fromkeys(cell.dataset for cell in cells))
    found = [name for name in named if dataset_named(name).find(protocol.root) is not None]
    if not found:
        dataset_named(named[0]).home(protocol.root)  # says what is wrong with the root
    absent = [dataset_named(name).title for name in named if name not in found]
    if absent:
        typer.echo(f"not under {protocol.root}, so not run: {', '.join(absent)}", err=True)
    return [cell for cell in cells if cell.dataset in found]


def _run_missing(cells: "list[Cell]", seeds: int, protocol: "Protocol", book: "ResultBook", folder: Path) -> None:
    from legogcd.paper.reproduce.protocol import missing_runs
    from legogcd.paper.reproduce.trials import run

    display = show()
    runs = list(missing_runs(cells, seeds, protocol, book))
    for number, (cell, seed) in enumerate(runs, start=1):
        display.note(f"run {number} of {len(runs)}")
        book.add(run(cell, seed, protocol, folder, display))


def _table(name: str, form: Form, book: "ResultBook", root: Path | None) -> str:
    from legogcd.paper.reproduce import compare_table, paper_table

    counts = _counts(root) if name == "table1" and root is not None else {}
    return _rendered(compare_table(paper_table(name), book.rows, counts), form)


def _rows(dataset: str, methods: list[str], form: Form, book: "ResultBook") -> str:
    from legogcd.paper.reproduce import compare_table
    from legogcd.paper.reproduce.published_tables import dataset_table

    rows = book.find(dataset=dataset)
    settings = {method: sorted({row.settings for row in rows if row.method == method}) for method in methods}
    return _rendered(compare_table(dataset_table(dataset, methods, settings), rows), form)


def _rendered(comparison: object, form: Form) -> str:
    from legogcd.paper.reproduce import TableComparison, to_csv, to_latex, to_markdown

    assert isinstance(comparison, TableComparison)
    return {Form.markdown: to_markdown, Form.csv: to_csv, Form.latex: to_latex}[form](comparison)


def _counts(root: Path) -> dict[str, tuple[int, int]]:
    """Labelled and unlabelled images of our split of every data set under a root; a broken one is named."""
    from legogcd.paper.datasets import DATASETS
    from legogcd.paper.splits import training_split

    counts = {}
    for name, dataset in DATASETS.items():
        if dataset.find(root) is None:
            continue
        try:
            labelled = training_split(dataset, root)[0].labelled
        except UserError as wrong:
            typer.echo(f"{dataset.title} left out: {wrong}", err=True)
            continue
        counts[name] = (int(labelled.sum()), int((~labelled).sum()))
    return counts
