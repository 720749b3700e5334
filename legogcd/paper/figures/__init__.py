"""The paper's figures (section 5) of any runs: each that the runs allow, and a reason for each that they do not."""

from collections.abc import Callable, Sequence
from pathlib import Path

from legogcd.errors import UserError
from legogcd.paper.figures.accuracy_figures import draw_accuracy, draw_old, old_lines
from legogcd.paper.figures.components import COMPONENTS, component_lines, draw_components
from legogcd.paper.figures.confidence import draw_confidence
from legogcd.paper.figures.runs import DataSet, PlottedLine, Run, data_sets, read_runs
from legogcd.paper.figures.selected_samples import counted_lines, draw_selected, draw_selected_max
from legogcd.paper.figures.style import styled
from legogcd.paper.figures.tsne import FEWEST_IMAGES, draw_tsne
from legogcd.run.figure_sample import SAMPLE, FigureSample, read_sample

__all__ = ["draw_figures"]
Note = Callable[[str], None]


def draw_figures(runs: Sequence[Path], out: Path, note: Note = lambda line: None) -> list[Path]:
    """Draw what the run folders allow into ``out``, as PNG and SVG; returns the files written.

    A figure that these runs do not allow is told to ``note`` with the reason, in one line.
    """
    if out.exists() and not out.is_dir():
        raise UserError(f"--out {out} is a file; give a folder")
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
    return [*_tsne(dataset, samples, out, missing), *_confidence(dataset, samples, out, missing)]


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


def _confidence(dataset: DataSet, samples: dict[Run, FigureSample], out: Path, missing: list[str]) -> list[Path]:
    for run, sample in samples.items():
        if not sample.confidence.size:
            missing.append(f"no confidence of {run.name}: its truth names no unlabelled image of a known class")
    lines = dataset.lines_of(run for run, sample in samples.items() if sample.confidence.size)
    return draw_confidence(dataset, _baseline_first(lines), samples, out) if lines else []


def _same_classes(one: FigureSample, other: FigureSample) -> bool:
    return (one.names, one.n_known) == (other.names, other.n_known)


def _baseline_first(lines: Sequence[PlottedLine]) -> list[PlottedLine]:
    """What the others are shown beside comes first: SimGCD where it is there."""
    return sorted(lines, key=lambda line: line.method != "simgcd")
