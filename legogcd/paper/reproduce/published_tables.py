"""What the paper's tables contain, as data: which run every published figure belongs to."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from legogcd.errors import UserError
from legogcd.evaluation.results import settings_text
from legogcd.methods.published import published_recipes
from legogcd.paper.datasets import dataset_named
from legogcd.paper.published import published
from legogcd.paper.reproduce import footnotes

RELEASED = "legogcd-released"
LABELS = {
    "kmeans": "k-means",
    "sskmeans": "semi-supervised k-means",
    "rankstats": "RankStats+",
    "uno": "UNO+",
    "orca": "ORCA",
    "gcd": "GCD",
    "simgcd": "SimGCD",
    "simgcd+dkl": "SimGCD + DKL",
    "simgcd+ler": "SimGCD + LER",
    "simgcd+ler+map": "SimGCD + LER + MAP",
    "legogcd": "LegoGCD",
    RELEASED: "LegoGCD, released code",
}
_RERUN = "simgcd-rerun"
_PUBLISHED_ROWS = {  # key in published.json: our method
    "k-means": "kmeans",
    "rankstats+": "rankstats",
    "uno+": "uno",
    "orca": "orca",
    "gcd": "gcd",
    "simgcd": "simgcd",
    _RERUN: "simgcd",
    "legogcd": "legogcd",
}
FREE_SEEDS = (1, 2, 3, 4, 5)


class Figures(NamedTuple):
    """All, Old and New as printed, in percent."""

    all: float
    old: float
    new: float


@dataclass(frozen=True)
class Cell:
    """One experiment: what to run, and what the paper found. ``seeds`` None: those one likes.

    ``settings`` are only those that differ from the method's published ones on that data set.
    """

    dataset: str
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    seeds: tuple[int, ...] | None = None
    published: Figures | None = None

    @property
    def settings_text(self) -> str:
        """The settings as results spell them."""
        return settings_text(self.settings)


@dataclass(frozen=True)
class Row:
    """A line with All/Old/New of one experiment; ``against`` is what ours is held against, None: nothing.

    ``optional`` rows are shown where there are results and nobody need run them; ``note`` is shown with the row.
    """

    label: str
    cell: Cell
    against: Figures | None
    measure: Literal["mean", "std"] = "mean"
    optional: bool = False
    note: str = ""


@dataclass(frozen=True)
class Delta:
    """A line with the gain of one experiment over another."""

    label: str
    of: Cell
    over: Cell
    optional: bool = False
    note: str = footnotes.GAIN

    @property
    def published(self) -> Figures | None:
        """The gain that the paper's figures make; None where it has not both."""
        if self.of.published is None or self.over.published is None:
            return None
        pairs = zip(self.of.published, self.over.published, strict=True)
        return Figures(*(round(gained - base, 1) for gained, base in pairs))


@dataclass(frozen=True)
class Sizes:
    """A line with a data set's labelled and unlabelled images, Old and all classes."""

    label: str
    dataset: str
    published: tuple[int, int, int, int]
    note: str = ""


@dataclass(frozen=True)
class Block:
    """The part of a table that is about one data set."""

    title: str
    rows: tuple[Row | Delta | Sizes, ...]


ACCURACIES = {"all": "All", "old": "Old", "new": "New"}
SIZES = {"labelled": "Labelled", "unlabelled": "Unlabelled", "old": "Old", "total": "All"}


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper; ``columns`` are the headings of its figures by key, ``heading`` that of its lines."""

    name: str
    title: str
    heading: str
    columns: Mapping[str, str]
    blocks: tuple[Block, ...]
    notes: tuple[str, ...] = ()

    @property
    def cells(self) -> list[Cell]:
        """What must be run to fill the table, each experiment once."""
        rows = [row for block in self.blocks for row in block.rows if isinstance(row, Row) and not row.optional]
        unique = {(c.dataset, c.method, c.settings_text, c.seeds): c for c in (row.cell for row in rows)}
        return list(unique.values())


def paper_table(name: str) -> PaperTable:
    """A table by its name.

    >>> [block.title for block in paper_table("table3").blocks]
    ['CIFAR-10', 'CIFAR-100']
    """
    if name not in _TABLES:
        raise UserError(f"unknown table {name!r}; there are: {', '.join(_TABLES)}")
    return _TABLES[name]()


def dataset_table(name: str, methods: Collection[str], settings: Mapping[str, Collection[str]]) -> PaperTable:
    """One data set's lines of the main tables for some methods, and for runs with other ``settings`` (by method)."""
    dataset = dataset_named(name)
    main = _main_block(name).rows
    lines = [row for row in main if isinstance(row, Row) and row.cell.method in methods]
    listed = {row.cell.method for row in lines}
    lines += [_found_row(name, method, "") for method in methods if method not in listed]
    lines += [_found_row(name, method, text) for method in methods for text in settings.get(method, ()) if text]
    order = [*LABELS, *methods]
    lines.sort(key=lambda row: order.index(row.cell.method))
    gains = [row for row in main if isinstance(row, Delta) and row.of.method in methods]
    notes = list(footnotes.BY_DATASET.get(name, ()))
    logged = published()["forgetting"]["old_peak_to_last_in_released_logs"].get(name)
    if logged and "legogcd" in methods:
        best, last = logged
        notes.append(f"Old in LegoGCD's released log: best {best}, last {last} ({best - last:.1f} forgotten).")
    return PaperTable(
        name, dataset.title, "Method", ACCURACIES, (Block(dataset.title, (*lines, *gains)),), tuple(notes)
    )


def _found_row(dataset: str, method: str, settings: str) -> Row:
    """A line for any method and settings, with the figures of an ablation where one has them."""
    cell = Cell(dataset, method, dict(part.split("=", 1) for part in settings.split()))
    for name in ("ablation-blocks", "ablation-beta", "ablation-threshold"):
        for known in paper_table(name).cells:
            if (known.dataset, known.method, known.settings_text) == (dataset, method, cell.settings_text):
                cell = known
    label = LABELS.get(method, method)
    return Row(f"{label}, {settings}" if settings else label, cell, cell.published)


def _sizes() -> PaperTable:
    lines = tuple(
        Sizes(dataset_named(name).title, name, (row["labelled"], row["unlabelled"], row["old"], row["total"]))
        for name, row in published()["sizes"].items()
    )
    rounded = [row.label for row in lines if not published()["sizes"][row.dataset].get("exact", True)]
    return PaperTable(
        "table1",
        "Table 1: images and classes of the data sets",
        "Data set",
        SIZES,
        (Block("Images (labelled, unlabelled) and classes (Old, all)", lines),),
        (f"The published counts of {' and '.join(rounded)} are not exact.",),
    )


def _main(name: str, title: str, datasets: tuple[str, ...]) -> PaperTable:
    notes = [note for dataset in datasets for note in footnotes.BY_DATASET.get(dataset, ())]
    blocks = tuple(_main_block(dataset) for dataset in datasets)
    return PaperTable(name, title, "Method", ACCURACIES, blocks, tuple(notes))


def _main_block(dataset: str) -> Block:
    results = published()["results"].get(dataset, {})
    rows: list[Row | Delta] = []
    cells: dict[str, Cell] = {}
    for key, method in _PUBLISHED_ROWS.items():
        figures = Figures(**results[key]) if key in results else None
        cells[key] = Cell(dataset, method, published=figures)
        label = "SimGCD rerun" if key == _RERUN else LABELS[method]
        note = footnotes.RERUN if key == _RERUN else ""
        rows.append(Row(label, cells[key], figures, optional=figures is None, note=note))
    legogcd, rerun, released = cells["legogcd"], cells[_RERUN], Cell(dataset, RELEASED)
    rows.append(_released_row(released, legogcd))
    rows.append(Delta("Δ LegoGCD", legogcd, rerun))
    rows.append(Delta("Δ released code", released, rerun, optional=True))
    return Block(dataset_named(dataset).title, tuple(rows))


def _blocks() -> PaperTable:
    rows: list[Row] = []
    for parts, figures in published()["ablations"]["components_cub"].items():
        whole = parts == "simgcd+ler+map+dkl"
        method = "legogcd" if whole else parts
        label = "SimGCD + LER + MAP + DKL = LegoGCD" if whole else LABELS[method]
        rows.append(_row(label, Cell("cub", method, published=Figures(**figures))))
    rows.append(_released_row(Cell("cub", RELEASED), rows[-1].cell))
    title = "Ablation: the components, one by one"
    return PaperTable("ablation-blocks", title, "Method", ACCURACIES, (_block("cub", rows),), footnotes.COMPONENTS)


def _beta() -> PaperTable:
    title = "Ablation: the weight β of local entropy regularisation"
    return _sweep("beta", title, "β", without="0.0", notes=footnotes.BETA)


def _threshold() -> PaperTable:
    title = "Ablation: the confidence threshold δ"
    return _sweep("threshold", title, "Threshold", without="off", notes=footnotes.THRESHOLD)


def _sweep(setting: str, title: str, heading: str, without: str, notes: tuple[str, ...]) -> PaperTable:
    """LegoGCD at several values of one setting; ``without`` is the value at which the paper shows SimGCD."""
    blocks = []
    for dataset, lines in published()["ablations"][setting].items():
        chosen, rows = published_recipes()[dataset][setting], []
        for text, printed in lines.items():
            figures = Figures(**printed)
            if text == without:
                rows.append(_row(f"{text} (SimGCD)", Cell(dataset, "simgcd", published=figures)))
            elif float(text) == chosen:
                rows.append(_row(f"{text} (chosen)", Cell(dataset, "legogcd", published=figures)))
            else:
                rows.append(_row(text, Cell(dataset, "legogcd", {setting: float(text)}, published=figures)))
        blocks.append(_block(dataset, rows))
    return PaperTable(f"ablation-{setting}", title, heading, ACCURACIES, tuple(blocks), notes)


def _seeds() -> PaperTable:
    dataset, blocks, free = "fgvc_aircraft", [], {}
    for method, printed in published()["ablations"]["seeds_fgvc_aircraft"].items():
        mean, std = Figures(**printed["mean"]), Figures(**printed["std"])
        free[method] = Cell(dataset, method, seeds=FREE_SEEDS, published=mean)
        rows: list[Row | Delta] = [_row("0", Cell(dataset, method, seeds=(0,), published=Figures(**printed["seed0"])))]
        for seed, line in zip(FREE_SEEDS, printed["free"], strict=True):
            cell = Cell(dataset, method, seeds=(seed,), published=Figures(**line))
            rows.append(Row(f"free (ours: {seed})", cell, None))  # another seed than theirs: no difference to speak of
        rows.append(_row("mean of the free", free[method]))
        deviation = Cell(dataset, method, seeds=FREE_SEEDS, published=std)
        rows.append(Row("standard deviation", deviation, std, measure="std"))
        if method == "legogcd":
            rows.append(Delta("Δ of the means", free["legogcd"], free["simgcd"]))
        blocks.append(Block(f"{dataset_named(dataset).title}, {LABELS[method]}", tuple(rows)))
    title = "Seeds: SimGCD and LegoGCD with seed 0 and with five free ones"
    return PaperTable("seeds", title, "Seed", ACCURACIES, tuple(blocks), footnotes.SEEDS)


def _row(label: str, cell: Cell) -> Row:
    return Row(label, cell, cell.published)


def _released_row(released: Cell, legogcd: Cell) -> Row:
    """The published figures came from the released code: its runs are held against them too."""
    return Row(LABELS[RELEASED], released, legogcd.published, optional=True, note=footnotes.RELEASED_CODE)


def _block(dataset: str, rows: list[Row]) -> Block:
    return Block(dataset_named(dataset).title, tuple(rows))


def table_names() -> Iterator[str]:
    """The tables' names, in the paper's order."""
    return iter(_TABLES)


_TABLES: dict[str, Callable[[], PaperTable]] = {
    "table1": _sizes,
    "table2": lambda: _main(
        "table2",
        "Table 2: the fine-grained data sets",
        ("cub", "stanford_cars", "fgvc_aircraft", "herbarium_19"),
    ),
    "table3": lambda: _main("table3", "Table 3: CIFAR-10 and CIFAR-100", ("cifar10", "cifar100")),
    "table4": lambda: _main("table4", "Table 4: ImageNet-100 and ImageNet-1k", ("imagenet100", "imagenet1k")),
    "ablation-blocks": _blocks,
    "ablation-beta": _beta,
    "ablation-threshold": _threshold,
    "seeds": _seeds,
}
