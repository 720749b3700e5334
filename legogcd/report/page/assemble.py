"""The page put together: numbers, sentences and thumbnails into one HTML file that asks nothing of a network."""

import base64
import hashlib
import json
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from legogcd.collection import Images
from legogcd.display import Quiet
from legogcd.errors import UserError
from legogcd.evaluation.calibration import Calibration
from legogcd.files import write_text
from legogcd.report.page import findings as look
from legogcd.report.page.charts import score_chart, term_charts
from legogcd.report.page.findings import Finding
from legogcd.report.page.layout_map import GRID, map_points
from legogcd.report.page.repeat import repeat_command, settings_rows
from legogcd.report.page.sentences import KINDS, Kind, border_sentence, summary_line
from legogcd.report.page.sorting import Sorting, sort_images
from legogcd.report.page.thumbnails import BUDGET, Thumbnails, fingerprints, make_thumbnails
from legogcd.run.categories import Categories, current
from legogcd.run.config import RunConfig, read_config
from legogcd.run.folder import read_metrics
from legogcd.run.model import read_calibration

_TYPICAL, _UNCERTAIN = 12, 8
_CHUNK = 200  # thumbnails that are parsed together, when the first of them comes into sight


@dataclass(frozen=True)
class Card:
    """A group on the page."""

    number: int
    name: str
    known: bool
    size: int
    labelled: int
    confidence: float | None
    typical: list[int]
    uncertain: list[int]
    border: list[int]
    sentence: str


@dataclass(frozen=True)
class Suspicion:
    """A finding on the page."""

    sentence: str
    images: tuple[int, ...]
    groups: tuple[int, ...]


def build_report(
    run: Path,
    features: np.ndarray,
    probabilities: np.ndarray,
    images: Images,
    out: Path,
    display: Quiet | None = None,
    budget: int = BUDGET,
) -> None:
    """Write the report of the run folder ``run`` to ``out``, one HTML file; the same run gives the same bytes.

    ``features`` [N, D] are the trained features and ``probabilities`` [N, K] the model's, known classes first, of the
    rows of predictions.csv in their order; ``images`` holds the pictures by the same names. Names and merges made
    since are followed.
    """
    display = display or Quiet()
    config, now = read_config(run), current(run)
    _check(len(now), features, probabilities, config.n_classes)
    sorting = sort_images(now, Categories.of_run(run, config.known, config.n_classes), probabilities)
    rows = _rows(images, sorting.names)
    units = look.unit(np.asarray(features, dtype=np.float32))
    display.note("looking for what is suspicious, and drawing the map")
    suspicions = [
        (kind, [Suspicion(kind.sentence(finding, sorting), finding.images, finding.groups) for finding in found])
        for kind, found in _suspicions(sorting, units, images, rows)
    ]
    cards = group_cards(sorting, units)
    featured = {row for _, found in suspicions for suspicion in found for row in suspicion.images}
    featured |= {row for card in cards for row in (*card.typical, *card.uncertain, *card.border)}
    with display.counting("making thumbnails", len(rows)) as progress:
        thumbnails = make_thumbnails(images, rows, sorted(featured), budget, progress)
    calibration = read_calibration(run)
    write_text(
        out, _page(config, read_metrics(run), sorting, calibration, suspicions, cards, map_points(units), thumbnails)
    )


def group_cards(sorting: Sorting, units: np.ndarray) -> list[Card]:
    """Every group with its most typical and least certain images and the known class nearest to it."""
    middle = look.centers(units, sorting.group, len(sorting.groups))
    directions = look.unit(middle)
    alike = directions @ directions.T  # [G, G]
    cards = []
    for group, name in enumerate(sorting.groups):
        members = sorting.members(group)
        closeness = units[members] @ directions[group]
        open_ones = members[~sorting.labelled[members]]
        typical = members[np.argsort(-closeness, kind="stable")][:_TYPICAL].tolist()
        doubtful = open_ones[np.argsort(sorting.certainty[open_ones], kind="stable")].tolist()
        others = [other for other in np.flatnonzero(sorting.known).tolist() if other != group]
        sentence, border = "There is no other known class to compare it with.", []
        if others:
            nearest = max(others, key=lambda other: float(alike[group, other]))
            closer = int((units[members] @ directions[nearest] > closeness).sum())
            sentence = border_sentence(
                name, sorting.groups[nearest], float(alike[group, nearest]), closer, len(members)
            )
            border = list(look.border(sorting, group, nearest))
        cards.append(
            Card(
                number=group,
                name=name,
                known=bool(sorting.known[group]),
                size=len(members),
                labelled=int(sorting.labelled[members].sum()),
                confidence=float(sorting.certainty[open_ones].mean()) if open_ones.size else None,
                typical=typical,
                uncertain=[row for row in doubtful if row not in typical][:_UNCERTAIN],
                border=border,
                sentence=sentence,
            )
        )
    return cards


def _check(n_images: int, features: np.ndarray, probabilities: np.ndarray, n_classes: int) -> None:
    if len(features) != n_images or probabilities.shape != (n_images, n_classes):
        raise UserError(
            f"predictions.csv has {n_images} images and config.json {n_classes} classes; features "
            f"{list(features.shape)} and probabilities {list(probabilities.shape)} do not belong to this run"
        )


def _rows(images: Images, names: tuple[str, ...]) -> list[int]:
    """Where each image of a run is in a collection."""
    place = {name: row for row, name in enumerate(images.names)}
    missing = [name for name in names if name not in place]
    if missing:
        raise UserError(f"{len(missing)} images of the run are not in the collection given, first {missing[0]!r}")
    return [place[name] for name in names]


def _suspicions(
    sorting: Sorting, units: np.ndarray, images: Images, rows: list[int]
) -> list[tuple[Kind, list[Finding]]]:
    def bits(chosen: np.ndarray) -> np.ndarray:
        return fingerprints(images, [rows[row] for row in chosen])

    found = {
        "wrong-labels": look.wrong_labels(sorting, units),
        "duplicates": look.near_duplicates(sorting, units, bits),
        "outliers": look.outliers(sorting, units),
        "like-two": look.groups_like_two(sorting, units),
        "like-one": look.groups_like_one(sorting, units),
    }
    return [(kind, found[kind.key]) for kind in KINDS]


def _page(
    config: RunConfig,
    metrics: list[dict[str, Any]],
    sorting: Sorting,
    calibration: Calibration,
    suspicions: list[tuple[Kind, list[Suspicion]]],
    cards: list[Card],
    points: np.ndarray,
    thumbnails: Thumbnails,
) -> str:
    style, script = _asset("page.css"), _asset("page.js")
    doubted = calibration.unsure(sorting.confidence)
    unsure = doubted & ~sorting.labelled
    found_known = sorting.known[sorting.group] & ~sorting.labelled
    in_new = ~sorting.known[sorting.group]
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    page: str = environment.from_string(_asset("page.html.jinja")).render(
        policy=_policy(style, script),
        style=Markup(style),
        script=Markup(script),
        title=config.name or "Images",
        method=config.method,
        lead=summary_line(sorting, int(unsure.sum())),
        numbers=[
            ("images", len(sorting.names), "in all", "all"),
            ("labelled", int(sorting.labelled.sum()), "with a label you gave", "labelled"),
            ("known found", int(found_known.sum()), f"in {int(sorting.known.sum())} known classes", "known"),
            ("new groups", int((~sorting.known).sum()), f"with {int(in_new.sum())} images", "new"),
            ("unsure", int(unsure.sum()), f"best guess below {100 * calibration.threshold:.0f} %", "unsure"),
        ],
        suspicions=suspicions,
        cards=cards,
        groups=sorting.groups,
        names=sorting.names,
        score_chart=score_chart(metrics),
        terms=term_charts(metrics),
        settings=settings_rows(config.as_json()),
        command=repeat_command(config),
        version=config.version,
        shown=sum(1 for picture in thumbnails.pictures if picture),
        unreadable=thumbnails.unreadable,
        left_out=thumbnails.left_out,
        data=embedded(_data(sorting, points, doubted)),
        chunks=[
            embedded(thumbnails.pictures[start : start + _CHUNK])
            for start in range(0, len(thumbnails.pictures), _CHUNK)
        ],
    )
    return page


def _data(sorting: Sorting, points: np.ndarray, doubted: np.ndarray) -> dict[str, Any]:
    """What the script needs of every image, as columns of whole numbers."""
    runner_up = sorting.belief.copy()
    runner_up[np.arange(len(runner_up)), sorting.predicted] = -1
    second = runner_up.argmax(1)
    share = partial(np.take_along_axis, sorting.belief, axis=1)
    return {
        "names": sorting.names,
        "groups": sorting.groups,
        "known": sorting.known.astype(int).tolist(),
        "group": sorting.group.tolist(),
        "labelled": sorting.labelled.astype(int).tolist(),
        "predicted": sorting.predicted.tolist(),
        "confidence": np.rint(100 * sorting.confidence).astype(int).tolist(),
        "second": second.tolist(),
        "secondShare": np.rint(100 * share(indices=second[:, None])[:, 0]).astype(int).tolist(),
        "x": points[:, 0].tolist(),
        "y": points[:, 1].tolist(),
        "grid": GRID,
        "unsure": doubted.astype(int).tolist(),
        "chunk": _CHUNK,
    }


def embedded(value: Any) -> Markup:
    """JSON that is safe inside a script element: nothing in it can end the element or open another.

    >>> str(embedded(["</script>", "\\u2028"]))
    '["\\\\u003c/script\\\\u003e","\\\\u2028"]'
    """
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _asset(name: str) -> str:
    return files("legogcd.report.page").joinpath(name).read_text("utf-8").replace("\r\n", "\n")


def _policy(style: str, script: str) -> str:
    """Only this style, this script and pictures inside the page; no connection anywhere."""

    def source(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; img-src data:; style-src {source(style)}; script-src {source(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
