"""Runs as figures need them: curves by epoch, which runs belong to one line, and names for titles and files."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from legogcd.errors import UserError
from legogcd.evaluation import selected_per_batch
from legogcd.methods import METHODS, check_method
from legogcd.paper.figures.style import PARTS, Look, looks, shorten
from legogcd.run.arguments import check_run
from legogcd.run.config import RunConfig, read_config
from legogcd.run.folder import METRICS, read_metrics

Curve = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Run:
    """A run folder read: what it was, and its curves by epoch."""

    folder: Path
    name: str  # the folder's name, its parent's before it where two are called the same
    dataset: str
    method: str
    seed: int
    known: tuple[str, ...]
    settings: Mapping[str, Any]  # what decides the outcome besides method and seed
    epochs: Curve  # [E]
    accuracy: Mapping[str, Curve]  # all, old, new: [E] in percent, NaN where not scored
    selected: Curve  # [E] confident known views of a batch on average, NaN where not counted

    @property
    def scored(self) -> bool:
        return bool(np.isfinite(self.accuracy["all"]).any())


@dataclass(frozen=True, eq=False)
class PlottedLine:
    """A method with one choice of settings, over the seeds it was run with."""

    label: str
    method: str
    look: Look
    runs: tuple[Run, ...]

    def having(self, runs: Iterable[Run]) -> "PlottedLine | None":
        """The line of those of its runs that are among ``runs``; None where there is none."""
        chosen = set(runs)
        kept = tuple(run for run in self.runs if run in chosen)
        return PlottedLine(self.label, self.method, self.look, kept) if kept else None


@dataclass(frozen=True, eq=False)
class DataSet:
    """The runs on one data set with the same known classes, as lines in the order of the methods."""

    name: str
    suffix: str  # of file names: empty where all runs are on one data set
    lines: tuple[PlottedLine, ...]

    @property
    def runs(self) -> list[Run]:
        return [run for line in self.lines for run in line.runs]

    def lines_of(self, runs: Iterable[Run]) -> list[PlottedLine]:
        """The lines that some of its runs make."""
        chosen = set(runs)
        return [kept for line in self.lines if (kept := line.having(chosen)) is not None]


def read_runs(folders: Sequence[Path]) -> list[Run]:
    """Read run folders; one given twice is read once."""
    if not folders:
        raise UserError("no run was given; give one or more run folders")
    distinct = list({folder.resolve(): folder for folder in folders}.items())
    names = _distinct_names([resolved for resolved, _ in distinct])
    return [_read_run(given, resolved, name) for (resolved, given), name in zip(distinct, names, strict=True)]


def data_sets(runs: Sequence[Run]) -> list[DataSet]:
    """The runs by data set, in the order given."""
    groups: dict[tuple[str, tuple[str, ...]], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.dataset, run.known), []).append(run)
    stems = _numbered([safe_stem(name) for name, _ in groups])
    return [
        DataSet(shorten(name, 60), f"-{stem}" if len(groups) > 1 else "", _lines(group))
        for ((name, _), group), stem in zip(groups.items(), stems, strict=True)
    ]


def safe_stem(name: str) -> str:
    """A name as part of a file name on any system.

    >>> safe_stem("simgcd+ler: a/b?"), safe_stem("..")
    ('simgcd+ler-a-b', 'run')
    """
    return re.sub(r"[^\w.+-]+", "-", name).strip("-.")[:60].rstrip("-.") or "run"


def seeds_of(runs: Iterable[Run]) -> str:
    """The seeds in words.

    >>> from types import SimpleNamespace
    >>> seeds_of([SimpleNamespace(seed=seed) for seed in (2, 0, 1)])
    'seeds 0-2'
    """
    seeds = sorted({run.seed for run in runs})
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    if len(seeds) > 2 and seeds[-1] - seeds[0] == len(seeds) - 1:
        return f"seeds {seeds[0]}-{seeds[-1]}"
    return f"seeds {', '.join(map(str, seeds))}"


def methods_of(lines: Sequence[PlottedLine]) -> str:
    """The lines' labels with their seeds; what is the same for several is said once."""
    said: dict[tuple[str, str], None] = dict.fromkeys((line.label, seeds_of(line.runs)) for line in lines)
    if len({seeds for _, seeds in said}) == 1:
        return f"{listed([label for label, _ in said])}, {next(iter(said))[1]}"
    return listed([f"{label} ({seeds})" for label, seeds in said])


def _read_run(given: Path, folder: Path, name: str) -> Run:
    check_run(given)
    config, entries = read_config(folder), read_metrics(folder)
    if not entries:
        raise UserError(f"{given} has no finished epoch: its {METRICS} is missing or empty")
    try:
        epochs = np.array([entry["epoch"] for entry in entries], float)
        accuracy = {part: 100 * _curve([entry.get(part) for entry in entries]) for part in PARTS}
        selected = _curve([selected_per_batch(entry) for entry in entries])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UserError(f"{given} is not a run folder: {METRICS} is not what a run writes") from None
    dataset, method, settings = _dataset(config, folder), _short(config.method), _settings(config)
    return Run(given, name, dataset, method, config.options.seed, config.known, settings, epochs, accuracy, selected)


def _curve(values: list[float | None]) -> Curve:
    return np.array([np.nan if value is None else float(value) for value in values])


def _dataset(config: RunConfig, folder: Path) -> str:
    root = config.images.root
    return config.name or (Path(root).name if root else "") or folder.parent.name or folder.name


def _settings(config: RunConfig) -> dict[str, Any]:
    """What may differ between runs of one method: its recipe, and what the images were looked at with."""
    options, protocol = config.options, config.options.protocol
    others = {"backbone": protocol.backbone, "kept_views": protocol.views, "classes": options.n_classes}
    others |= {"image_size": options.image_size, "train_blocks": protocol.train_blocks}
    return {**config.recipe, **others}


def _short(method: str) -> str:
    try:
        return check_method(method)
    except UserError:
        return method  # a run of another version may know more methods


def _lines(runs: Sequence[Run]) -> tuple[PlottedLine, ...]:
    order = list(METHODS)
    groups: list[list[Run]] = []
    for run in sorted(runs, key=lambda run: order.index(run.method) if run.method in order else len(order)):
        for group in groups:
            same = group[0].method == run.method and group[0].settings == run.settings
            if same and all(member.seed != run.seed for member in group):
                group.append(run)
                break
        else:
            groups.append([run])
    methods = [group[0].method for group in groups]
    return tuple(
        PlottedLine(_label(group, groups), method, look, tuple(sorted(group, key=lambda run: run.seed)))
        for group, method, look in zip(groups, methods, looks(methods), strict=True)
    )


def _label(group: list[Run], groups: list[list[Run]]) -> str:
    """The method, and what tells this line from the others of the same method."""
    run = group[0]
    others = [other[0] for other in groups if other is not group and other[0].method == run.method]
    if not others:
        return run.method
    told = [
        f"{name.replace('_', ' ')} {value}"
        for name, value in run.settings.items()
        if any(other.settings.get(name) != value for other in others)
    ]
    if not told or any(other.settings == run.settings for other in others):
        told.append(run.name)
    return shorten(f"{run.method} ({', '.join(told)})", 40)


def _distinct_names(folders: Sequence[Path]) -> list[str]:
    """Each folder's name, made safe for files; its parent's name goes before it where two are called the same."""
    names = [safe_stem(folder.name) for folder in folders]
    twice = {name.casefold() for name in names if sum(name.casefold() == other.casefold() for other in names) > 1}
    return _numbered(
        [
            safe_stem(f"{folder.parent.name}-{folder.name}") if name.casefold() in twice else name
            for folder, name in zip(folders, names, strict=True)
        ]
    )


def _numbered(names: Sequence[str]) -> list[str]:
    """Names of which none is there twice, also where file names ignore case."""
    taken: set[str] = set()
    distinct = []
    for name in names:
        number, candidate = 1, name
        while candidate.casefold() in taken:
            number += 1
            candidate = f"{name}-{number}"
        taken.add(candidate.casefold())
        distinct.append(candidate)
    return distinct


def listed(words: Sequence[str]) -> str:
    """The words as a person lists them: a, b and c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
