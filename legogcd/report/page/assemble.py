"""The page put together: numbers, sentences and thumbnails into one HTML file that asks nothing of a network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from legogcd.allocator import give_back
from legogcd.collection import ImageFiles, Images
from legogcd.display import Quiet
from legogcd.errors import UserError
from legogcd.evaluation.calibration import Calibration
from legogcd.evaluation.collapse import collapse_of_table
from legogcd.files import write_text
from legogcd.report.page.embedded_data import embedded, image_data, picture_chunks
from legogcd.report.page.findings import FINDING_KINDS, FindingKind
from legogcd.report.page.group_cards import GroupCard, group_cards
from legogcd.report.page.group_means import directions
from legogcd.report.page.grouped_images import GroupedImages, group_images
from legogcd.report.page.html import render_page
from legogcd.report.page.layout_map import map_points
from legogcd.report.page.repeat import repeat_command, settings_rows
from legogcd.report.page.sampling import sample_sentence
from legogcd.report.page.sentences import summary_line
from legogcd.report.page.svg_charts import score_chart, term_charts
from legogcd.report.page.thumbnails import BUDGET, Thumbnails, make_thumbnails
from legogcd.run.categories import Categories, current
from legogcd.run.config import RunConfig, read_config
from legogcd.run.discovery import read_predictions
from legogcd.run.doubts import TRY, doubt_lines, find_doubts
from legogcd.run.folder import read_metrics
from legogcd.run.model import read_calibration
from legogcd.vision.fingerprints import fingerprints
from legogcd.wording import counted, some_of

_NAMED = 5  # images that are named among those left out


@dataclass(frozen=True, eq=False)
class PageImages:
    """The images a page is about, N of those in predictions.csv and in its order."""

    files: Images  # the pictures, by the names in predictions.csv
    features: np.ndarray  # [N, D] trained
    probabilities: np.ndarray  # [N, K] the model's, known classes first
    left_out: Mapping[str, str] = field(default_factory=dict)  # the other images by name, with the reason
    strangeness: np.ndarray | None = None  # [N], where the run can tell
    sample: np.ndarray | None = None  # of predictions.csv, the rows that are looked at; None: all

    def rows_of(self, table: pd.DataFrame) -> pd.DataFrame:
        """What of a run's table the page is about, images set aside too."""
        table = table if self.sample is None else table.iloc[self.sample]
        return table[~table["path"].isin(list(self.left_out))]


@dataclass(frozen=True)
class FindingCard:
    """A finding on the page."""

    sentence: str
    images: tuple[int, ...]
    groups: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Page:
    """What the page shows of the images."""

    images: GroupedImages
    findings: list[tuple[FindingKind, list[FindingCard]]]
    groups: list[GroupCard]
    points: np.ndarray  # [N, 2] on the map

    @property
    def featured(self) -> list[int]:
        """Images that a person will look at."""
        found = {row for _, cards in self.findings for card in cards for row in card.images}
        return sorted(found.union(row for card in self.groups for row in card.shown))


def build_report(run: Path, shown: PageImages, out: Path, display: Quiet | None = None, budget: int = BUDGET) -> None:
    """Write the report of the run folder ``run`` to ``out``, one HTML file; the same run gives the same bytes.

    Names, merges and splits made since the run are followed. Thumbnails take ``budget`` bytes at most.
    """
    display, config = display or Quiet(), read_config(run)
    shown, aside = _without_aside(run, shown)
    images = _grouped(run, config, shown)
    places = _places(shown.files, images.names)
    display.note("looking for what is suspicious, and drawing the map")
    units = directions(np.asarray(shown.features, dtype=np.float32))
    findings = _findings(images, units, shown.files, places)
    page = Page(images, findings, group_cards(images, units), map_points(units))
    del units
    give_back()
    with display.counting("making thumbnails", len(places)) as progress:
        thumbnails = make_thumbnails(shown.files, places, page.featured, budget, progress)
    warnings = _warnings(run, config, shown, aside)
    whole = None if shown.sample is None else current(run)
    write_text(out, _html(run, config, page, thumbnails, warnings, _root(shown.files), whole))


def _without_aside(run: Path, shown: PageImages) -> tuple[PageImages, int]:
    """The images to show but for those a person set aside, and how many those are."""
    now = shown.rows_of(current(run))
    kept = (now["status"] != "rejected").to_numpy()
    if kept.all() or len(kept) != len(shown.features) or len(kept) != len(shown.probabilities):
        return shown, 0
    strange = None if shown.strangeness is None else shown.strangeness[kept]
    features, probabilities = shown.features[kept], shown.probabilities[kept]
    return replace(shown, features=features, probabilities=probabilities, strangeness=strange), int((~kept).sum())


def _grouped(run: Path, config: RunConfig, shown: PageImages) -> GroupedImages:
    """The images shown, in the groups of now."""
    now = shown.rows_of(current(run))
    now = now[now["status"] != "rejected"]
    features, probabilities = shown.features.shape, shown.probabilities.shape
    if features[0] != len(now) or probabilities != (len(now), config.n_classes):
        raise UserError(
            f"predictions.csv has {len(now)} images and config.json {config.n_classes} classes; features "
            f"{list(features)} and probabilities {list(probabilities)} do not belong to this run"
        )
    if not len(now):
        raise UserError(f"there is nothing to report on: {_left_out_sentence(shown.left_out)}")
    categories = Categories.of_run(run, config.known, config.n_classes)
    return group_images(now, categories, shown.probabilities, shown.strangeness)


def _places(files: Images, names: Sequence[str]) -> list[int]:
    """Where each image of a run is in a collection."""
    place = {name: number for number, name in enumerate(files.names)}
    missing = [name for name in names if name not in place]
    if missing:
        raise UserError(f"{len(missing)} images of the run are not in the collection given, first {missing[0]!r}")
    return [place[name] for name in names]


def _findings(
    images: GroupedImages, units: np.ndarray, files: Images, places: list[int]
) -> list[tuple[FindingKind, list[FindingCard]]]:
    def pictures(rows: np.ndarray) -> np.ndarray:
        return fingerprints(files, [places[row] for row in rows])

    return [
        (kind, [FindingCard(kind.sentence(found, images), found.images, found.groups) for found in searched])
        for kind in FINDING_KINDS
        for searched in [kind.search(images, units, pictures)]
    ]


def _warnings(run: Path, config: RunConfig, shown: PageImages, aside: int) -> list[str]:
    """What a person must know before anything else."""
    collapsed, left_out = collapse_of_table(read_predictions(run), config.n_classes, len(config.known)), shown.left_out
    whole = current(run)
    now = shown.rows_of(whole)
    now = now[now["status"] != "rejected"]
    doubts = find_doubts(run, now, config, shown.features, read_calibration(run))
    said = [collapsed] if collapsed else doubt_lines(doubts)  # of a run that came to nothing, nothing else matters
    found = [_sentence(line) for line in said] + ([_left_out_sentence(left_out)] if left_out else [])
    sampled = [] if shown.sample is None else [sample_sentence(len(now), len(whole))]
    return sampled + found + ([f"{counted(aside, 'image')} set aside: not on this page."] if aside else [])


def _sentence(line: str) -> str:
    """A line of the terminal, for the page; a command ends where it ends, so that it can be copied."""
    return f"{line[0].upper()}{line[1:]}{'' if line.startswith(TRY) else '.'}"


def _left_out_sentence(left_out: Mapping[str, str]) -> str:
    named = [f"{name} ({reason})" for name, reason in left_out.items()]
    cannot = f"{counted(len(named), 'image')} of the run cannot be read any more"
    return f"{cannot} and {'is' if len(named) == 1 else 'are'} not on this page: {some_of(named, _NAMED)}."


def _root(files: Images) -> Path | None:
    """The folder that the images are in, None for images that are no files."""
    return files.root.resolve() if isinstance(files, ImageFiles) else None


def _html(
    run: Path,
    config: RunConfig,
    page: Page,
    thumbnails: Thumbnails,
    warnings: list[str],
    root: Path | None,
    whole: pd.DataFrame | None,
) -> str:
    images, metrics, calibration = page.images, read_metrics(run), read_calibration(run)
    doubted = calibration.unsure(images.confidence)
    numbers = _numbers(images, calibration) if whole is None else _numbers_of_all(whole, calibration)
    counts = {what: count for what, count, _, _ in numbers}
    return render_page(
        title=config.name or "Images",
        method=config.method,
        version=config.version,
        lead=summary_line(images, counts["images"], counts["unsure"], config.images.trained_on),
        warnings=warnings,
        numbers=numbers,
        findings=page.findings,
        cards=page.groups,
        groups=images.groups,
        names=images.names,
        score_chart=score_chart(metrics),
        terms=term_charts(metrics),
        settings=settings_rows(config.as_json()),
        command=repeat_command(config),
        shown=sum(1 for picture in thumbnails.pictures if picture),
        unreadable=thumbnails.unreadable,
        without_room=thumbnails.left_out,
        data=embedded(image_data(images, page.points, doubted, root)),
        chunks=picture_chunks(thumbnails.pictures),
    )


def _numbers(images: GroupedImages, calibration: Calibration) -> list[tuple[str, int, str, str]]:
    """The numbers at the top: what is counted, how many, a remark, and the filter that shows them."""
    in_known, unlabelled = images.known[images.group], ~images.labelled
    unsure = calibration.unsure(images.confidence) & unlabelled
    return [
        ("images", len(images.names), "in all", "all"),
        ("labelled", int(images.labelled.sum()), "with a label you gave", "labelled"),
        (
            "known found",
            int((in_known & unlabelled).sum()),
            f"in {counted(int(images.known.sum()), 'known class')}",
            "known",
        ),
        ("new groups", int((~images.known).sum()), f"with {counted(int((~in_known).sum()), 'image')}", "new"),
        ("unsure", int(unsure.sum()), f"best guess below {100 * calibration.threshold:.0f} %", "unsure"),
    ]


def _numbers_of_all(whole: pd.DataFrame, calibration: Calibration) -> list[tuple[str, int, str, str]]:
    """The same of a run whose page shows a sample: counted in its table."""
    whole = whole[whole["status"] != "rejected"]
    labelled = (whole["status"] == "labelled") | whole["confirmed"]
    novel, unsure = whole["status"] == "novel", calibration.unsure(whole["confidence"].to_numpy())
    classes = whole["category"][~novel].nunique()
    groups = whole["category"][novel].nunique()
    return [
        ("images", len(whole), "in all", "all"),
        ("labelled", int(labelled.sum()), "with a label you gave", "labelled"),
        ("known found", int((~novel & ~labelled).sum()), f"in {counted(classes, 'known class')}", "known"),
        ("new groups", groups, f"with {counted(int(novel.sum()), 'image')}", "new"),
        (
            "unsure",
            int((unsure & ~labelled).sum()),
            f"best guess below {100 * calibration.threshold:.0f} %",
            "unsure",
        ),
    ]
