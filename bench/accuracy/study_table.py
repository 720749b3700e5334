"""What a study found, seed by seed against its first variant: tables in Markdown and one picture.

Scores are mean ± sample deviation over seeds. A gain is the mean over seeds of the difference to the first variant with
the same seed (averaged over the data sets first, where there are several), with its 95 % interval by Student's t.
"""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from scipy.stats import t as student

from legogcd.evaluation.results import MeanSpread, Result, spread

SCORES = ("all", "old", "new")
_COLORS = {"all": "#000000", "old": "#0072B2", "new": "#D55E00"}


@dataclass(frozen=True)
class Gain:
    """A mean difference and half the width of its 95 % interval (None of one seed); fractions, shown in percent."""

    mean: float
    half: float | None

    def __str__(self) -> str:
        shown = f"{100 * self.mean:+.1f}" + ("" if self.half is None else f" ± {100 * self.half:.1f}")
        return shown.replace("-", "−")


@dataclass(frozen=True)
class Study:
    """Results by variant, data set and seed; the first variant is what the others are held against."""

    rows: dict[tuple[str, str, int], Result]
    variants: Sequence[str]
    data: Sequence[str]

    def score(self, variant: str, data: str, part: str) -> MeanSpread | None:
        return spread(getattr(row, part) for key, row in self.rows.items() if key[:2] == (variant, data))

    def average(self, variant: str, part: str) -> str:
        by_set = [found.mean for data in self.data if (found := self.score(variant, data, part))]
        return f"{100 * statistics.fmean(by_set):.1f}" if len(by_set) == len(self.data) else "–"

    def gain(self, variant: str, data: Sequence[str], part: str) -> Gain | None:
        """Over the seeds that both have on all of the data sets."""
        gains = []
        for seed in sorted({seed for name, _, seed in self.rows if name == variant}):
            pairs = [
                (self.rows.get((variant, name, seed)), self.rows.get((self.variants[0], name, seed))) for name in data
            ]
            if variant != self.variants[0] and all(ours and base for ours, base in pairs):
                gains.append(statistics.fmean(getattr(ours, part) - getattr(base, part) for ours, base in pairs))
        if not gains:
            return None
        n = len(gains)
        half = student.ppf(0.975, n - 1) * statistics.stdev(gains) / n**0.5 if n > 1 else None
        return Gain(statistics.fmean(gains), half)


def table(study: Study) -> Iterator[str]:
    """Scores and gains by data set, then on the average of the data sets."""
    for data in study.data:
        yield f"\n**{data}**\n"
        yield "| | seeds | All | Old | New | forgetting of Old | gain of All | of Old | of New |"
        yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|"
        for variant in study.variants:
            if found := study.score(variant, data, "all"):
                scores = [str(study.score(variant, data, part) or "–") for part in (*SCORES, "forgetting")]
                yield _line(variant, str(found.n), *scores, *_gains(study, variant, [data]))
    yield "\n**average over the data sets**\n"
    yield "| | All | Old | New | gain of All | of Old | of New |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for variant in study.variants:
        yield _line(variant, *(study.average(variant, part) for part in SCORES), *_gains(study, variant, study.data))


def _gains(study: Study, variant: str, data: Sequence[str]) -> list[str]:
    return [str(study.gain(variant, data, part) or "") for part in SCORES]


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def draw(study: Study, out: Path) -> None:
    """Every variant's gains with their intervals, a panel a data set and one for their average."""
    panels = [(data, [data]) for data in study.data] + ([("average", study.data)] if len(study.data) > 1 else [])
    others = study.variants[1:]
    figure, axes = plt.subplots(
        1, len(panels), sharey=True, squeeze=False, layout="constrained",
        figsize=(2.2 + 2.3 * len(panels), 1.1 + 0.34 * len(others)),
    )  # fmt: skip
    for panel, (title, data) in zip(axes[0], panels, strict=True):
        panel.axvline(0, color="#888888", linewidth=1)
        for part, shift in zip(SCORES, (-0.22, 0.0, 0.22), strict=True):
            found = [(place, gain) for place, name in enumerate(others) if (gain := study.gain(name, data, part))]
            panel.errorbar(
                [100 * gain.mean for _, gain in found],
                [place + shift for place, _ in found],
                xerr=[100 * (gain.half or 0) for _, gain in found],
                fmt={"all": "o", "old": "s", "new": "^"}[part],
                color=_COLORS[part],
                markersize=4,
                linewidth=1,
                label=part.capitalize(),
            )
        panel.set_title(title, fontsize=10)
        panel.grid(axis="x", alpha=0.25)
        panel.spines[["top", "right", "left"]].set_visible(False)
    axes[0, 0].set_yticks(range(len(others)), others)
    axes[0, 0].invert_yaxis()
    figure.supxlabel(f"points gained over {study.variants[0]}, 95 % interval over seeds", fontsize=9)
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside upper right", ncols=3, frameon=False, fontsize=9
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150, metadata={"Software": None})
    plt.close(figure)
