"""The paper's figures (section 5) of any runs: each that the runs allow, and a reason for each that they do not."""

from collections.abc import Callable, Sequence
from pathlib import Path

from legogcd.errors import UserError
from legogcd.paper.figures.accuracy_figures import draw_accuracy, draw_old, old_lines
from legogcd.paper.figures.components import COMPONENTS, component_lines, draw_components
from legogcd.paper.figures.distributions import CONFIDENCE, LOGIT, Quantity, draw_distribution
from legogcd.paper.figures.illustrations import draw_data, draw_framework
from legogcd.paper.figures.panels import (
    BASELINE,
    OURS,
    Pair,
    draw_old_sheet,
    draw_selected_sheet,
    draw_side_by_side,
    draw_tsne_sheet,
    pair_of,
)
from legogcd.paper.figures.runs import DataSet, PlottedLine, Run, data_sets, read_runs
from legogcd.paper.figures.selected_samples import counted_lines, draw_selected, draw_selected_max
from legogcd.paper.figures.style import styled
from legogcd.paper.figures.tsne import FEWEST_IMAGES, draw_tsne
from legogcd.run.figure_sample import SAMPLE, FigureSample, read_sample

__all__ = ["draw_as_printed", "draw_figures"]
Note = Callable[[str], None]


def draw_figures(runs: Sequence[Path], out: Path, note: Note = lambda line: None) -> list[Path]:
    """Draw what the run folders allow into ``out``, as PNG and SVG; returns the files written.

    A figure that these runs do not allow is told to ``note`` with the reason, in one line.
    """
    _check_folder(out)
    read = read_runs(runs)
    missing: list[str] = []
    written: list[Path] = []
    with styled():
        for run in read:
            if run.scored:
                written += draw_accuracy(run, out)
            else:
                missing.append(f"no accuracy-{run.name}: no epoch of {run.folder} was scored; run it with truth")
        found = data_sets(read)
        for dataset in found:
            written += _old(dataset, out, missing)
            written += _selected(dataset, out, missing)
        if any(counted_lines(dataset) for dataset in found):
            written += draw_selected_max(found, out)
        for dataset in found:
            written += _components(dataset, out, missing)
            written += _sampled(dataset, out, missing)
    if not written:
        raise UserError(f"none of the figures can be drawn: {'; '.join(missing)}")
    for line in missing:
        note(line)
    return written


def draw_as_printed(runs: Sequence[Path], out: Path, note: Note = lambda line: None) -> list[Path]:
    """Draw the sheets of the paper into ``out``: SimGCD beside LegoGCD, data sets together, and its illustrations.

    As `draw_figures`, what these runs do not allow is told to ``note``.
    """
    _check_folder(out)
    found = data_sets(read_runs(runs))
    missing: list[str] = []
    with styled():
        written = [*draw_framework(out), *draw_data(out)]
        scored = _pairs("paper-accuracy", found, [run for each in found for run in _old_runs(each)], missing)
        for pair in scored:
            written += draw_side_by_side(pair, out)
        written += draw_old_sheet([pair.shown for pair in scored], out) if scored else []
        counted = [run for each in found for line in counted_lines(each) for run in line.runs]
        pairs = _pairs("paper-selected", found, counted, missing)
        written += draw_selected_sheet(pairs, out) if pairs else []
        for dataset in found:
            written += _components(dataset, out, missing)
            written += _tsne_sheet(dataset, out, missing)
    for line in missing:
        note(line)
    return written


def _check_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise UserError(f"--out {out} is a file; give a folder")


def _old_runs(dataset: DataSet) -> list[Run]:
    return [run for line in old_lines(dataset) for run in line.runs]


def _pairs(stem: str, datasets: Sequence[DataSet], runs: Sequence[Run], missing: list[str]) -> list[Pair]:
    """What the paper compares, on every data set that has both; the others are told."""
    pairs = []
    for dataset in datasets:
        pair = pair_of(dataset, runs)
        if pair is None:
            missing.append(
                f"no {stem}{dataset.suffix}: it needs runs of {BASELINE} and of {' or '.join(OURS)} on {dataset.name}"
                f"{', scored with truth' if stem == 'paper-accuracy' else ''}"
            )
        else:
            pairs.append(pair)
    return pairs


def _tsne_sheet(dataset: DataSet, out: Path, missing: list[str]) -> list[Path]:
    samples = {run: read_sample(run.folder) for run in dataset.runs if (run.folder / SAMPLE).is_file()}
    enough = [run for run, sample in samples.items() if len(sample.features) >= FEWEST_IMAGES]
    pair = pair_of(dataset, enough)
    if pair is None or not _same_classes(*(samples[line.runs[0]] for line in pair.lines)):
        missing.append(
            f"no paper-tsne{dataset.suffix}: it needs runs of {BASELINE} and of {' or '.join(OURS)} on {dataset.name} "
            f"with the same classes in their {SAMPLE}, {FEWEST_IMAGES} images or more; truth gives them"
        )
        return []
    return draw_tsne_sheet(pair, samples, out)


def _old(dataset: DataSet, out: Path, missing: list[str]) -> list[Path]:
    scored = sum(len(line.runs) for line in old_lines(dataset))
    if scored > 1:
        return draw_old(dataset, out)
    missing.append(
        f"no old{dataset.suffix}: it needs two or more runs on {dataset.name} with Old accuracies; "
        f"there is {scored or 'none'}"
    )
    return []


def _selected(dataset: DataSet, out: Path, missing: list[str]) -> list[Path]:
    lines = counted_lines(dataset)
    counted = {run for line in lines for run in line.runs}
    without = [run.name for run in dataset.runs if run not in counted]
    if without:
        missing.append(f"no selected{dataset.suffix} of {', '.join(without)}: confident known views were not counted")
    return draw_selected(dataset, out) if lines else []


def _components(dataset: DataSet, out: Path, missing: list[str]) -> list[Path]:
    if len({line.method for line in component_lines(dataset)}) > 1:
        return draw_components(dataset, out)
    missing.append(
        f"no components{dataset.suffix}: it needs scored runs on {dataset.name} of two or more of "
        f"{', '.join(COMPONENTS)}"
    )
    return []


def _sampled(dataset: DataSet, out: Path, missing: list[str]) -> list[Path]:
    """The figures of what scored runs keep for them: t-SNE and confidence."""
    without = [run.name for run in dataset.runs if not (run.folder / SAMPLE).is_file()]
    if without:
        missing.append(
            f"no t-SNE and no confidence of {', '.join(without)}: no {SAMPLE}; it is written when truth is given"
        )
    samples = {run: read_sample(run.folder) for run in dataset.runs if run.name not in without}
    for run, sample in samples.items():
        if not CONFIDENCE.there(sample):
            missing.append(f"no confidence of {run.name}: its truth names no unlabelled image of a known class")
        elif not LOGIT.there(sample):
            missing.append(f"no logits of {run.name}: it is from before they were kept")
    drawn = _tsne(dataset, samples, out, missing)
    return drawn + [path for each in (CONFIDENCE, LOGIT) for path in _distribution(each, dataset, samples, out)]


def _tsne(dataset: DataSet, samples: dict[Run, FigureSample], out: Path, missing: list[str]) -> list[Path]:
    lines = _baseline_first(
        dataset.lines_of(run for run, sample in samples.items() if len(sample.features) >= FEWEST_IMAGES)
    )
    alike = [line for line in lines if _same_classes(samples[line.runs[0]], samples[lines[0].runs[0]])]
    for run, sample in samples.items():
        if len(sample.features) < FEWEST_IMAGES:
            missing.append(
                f"no t-SNE of {run.name}: its sample has {len(sample.features)} images; it needs {FEWEST_IMAGES}"
            )
    for line in lines:
        if line not in alike:
            first = lines[0].runs[0].name
            missing.append(f"no t-SNE of {line.runs[0].name}: its sample shows other classes than {first}'s")
    return draw_tsne(dataset, alike, samples, out) if alike else []


def _distribution(quantity: Quantity, dataset: DataSet, samples: dict[Run, FigureSample], out: Path) -> list[Path]:
    lines = dataset.lines_of(run for run, sample in samples.items() if quantity.there(sample))
    return draw_distribution(quantity, dataset, _baseline_first(lines), samples, out) if lines else []


def _same_classes(one: FigureSample, other: FigureSample) -> bool:
    return (one.names, one.n_known) == (other.names, other.n_known)


def _baseline_first(lines: Sequence[PlottedLine]) -> list[PlottedLine]:
    """What the others are shown beside comes first: SimGCD where it is there."""
    return sorted(lines, key=lambda line: line.method != BASELINE)
