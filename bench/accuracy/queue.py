"""Does the queue of `legogcd review` help most? ``python -m bench.accuracy.queue --data … --work DIR --out CSV``.

A finished run is answered 100 questions through the page's own API, once as the queue asks them, once about images
drawn at random; the truth only answers, it never chooses. Both then train the next round (the same settings, the same
number of classes), which is scored on the images that neither of them asked about. Rows that the file has are not
computed again; ``--work`` keeps the runs.
"""

import argparse
import csv
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from bench.accuracy.study import DataSet
from legogcd.evaluation import clustering_accuracy
from legogcd.run import Job, RunOptions, discover
from legogcd.run.discovery import read_predictions
from legogcd.run.opening import open_job
from legogcd.run.options import LabelOptions

QUESTIONS = 100
TYPICAL = 8  # images of a group that a person sees when asked what it is


@dataclass(frozen=True)
class Row:
    """All of the next round in percent, on images that nobody was asked about."""

    dataset: str
    seed: int
    asked: str  # by whom: queue, random, or nobody (the first round)
    questions: int
    labels: int  # images whose label the answers gave
    images: int  # scored
    all: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.accuracy.queue", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=DataSet.read, nargs="+", required=True, metavar="DIR:KNOWN[:PIXELS]")
    parser.add_argument("--out", type=Path, required=True, help="CSV that collects the rows")
    parser.add_argument("--work", type=Path, required=True, help="folder for the runs")
    parser.add_argument("--seeds", type=lambda text: [int(part) for part in text.split(",")], default=[0, 1, 2])
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    rows = _read(options.out)
    for seed in options.seeds:
        for data in options.data:
            if not any((row.dataset, row.seed) == (data.name, seed) for row in rows):
                rows += study(data, seed, options)
                _write(options.out, rows)
    print("\n".join(table(rows)))


def study(data: DataSet, seed: int, options: argparse.Namespace) -> list[Row]:
    """The three rows of a data set and a seed."""
    folder = options.work / f"{data.name}-{seed}"
    collection, truth = data.open()
    of_name = dict(truth.labels)
    settings = RunOptions(
        n_classes=truth.n_classes(collection),
        seed=seed,
        image_size=data.image_size,
        cache=options.cache,
        threads=options.threads,
    )
    if not (folder / "first" / "predictions.csv").exists():
        begun = (folder / "first" / "config.json").exists()
        discover(Job(collection, settings, data.name), folder / "first", resume=begun)
    runs = {asked: folder / asked for asked in ("queue", "random")}
    asked: dict[str, tuple[list[int], int]] = {}
    before = {kind: _log(run) for kind, run in runs.items()}
    for kind, run in runs.items():
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(folder / "first", run)
        asked[kind] = answer_questions(run, data.folder, of_name, kind, seed, options.cache)
    first = read_predictions(folder / "first")
    unasked = np.ones(len(first), bool)
    for images, _ in asked.values():
        unasked[images] = False
    unasked &= (first["status"] != "labelled").to_numpy()
    scored = set(first["path"][unasked])
    rows = [Row(data.name, seed, "nobody", 0, 0, len(scored), score(folder / "first", scored, of_name))]
    for kind, run in runs.items():
        if _log(run) != before[kind] or not (folder / f"{kind}-next" / "predictions.csv").exists():
            shutil.rmtree(folder / f"{kind}-next", ignore_errors=True)
            job, _ = open_job(data.folder, LabelOptions(), settings, lambda note: None, run)
            discover(job, folder / f"{kind}-next")
        found = score(folder / f"{kind}-next", scored, of_name)
        rows.append(Row(data.name, seed, kind, QUESTIONS, asked[kind][1], len(scored), found))
        print(rows[-1], flush=True)
    return rows


def _log(run: Path) -> bytes:
    """The edits of a run: the same answers need no second training."""
    return (run / "edits.jsonl").read_bytes() if (run / "edits.jsonl").exists() else b""


def score(run: Path, scored: set[str], truth: dict[str, str]) -> float:
    """All, in percent, over some images of a run."""
    table = read_predictions(run)
    table = table[table["path"].isin(scored)]
    classes = {name: number for number, name in enumerate(sorted(set(truth.values())))}
    names = {name: number for number, name in enumerate(sorted(set(table["predicted"])))}
    true = table["path"].map(truth).map(classes).to_numpy(np.int64)
    found = table["predicted"].map(names).to_numpy(np.int64)
    return round(100 * clustering_accuracy(true, found, n_known=1).all, 2)


def answer_questions(
    run: Path, images: Path, truth: dict[str, str], kind: str, seed: int, cache: Path | None
) -> tuple[list[int], int]:
    """Ask and answer through the page's API; returns the images asked about, and how many labels there are more."""
    from legogcd.review.prepare import prepare
    from legogcd.review.workspace import Location

    location = Location(run, images, cache=cache)
    prepare(location)
    page = Page(location)
    before = page.state()["totals"]["confirmed"]
    asked: list[int] = []
    drawn = _at_random(page, seed) if kind == "random" else None
    while len(asked) < QUESTIONS:
        row = next(drawn) if drawn is not None else page.next_question()
        asked.append(row)
        page.answer(row, truth)
    return asked, page.state()["totals"]["confirmed"] - before


class Page:
    """The page's API in this process, as a browser would use it."""

    def __init__(self, location: Any) -> None:
        from fastapi.testclient import TestClient

        from legogcd.review.app import build_app
        from legogcd.review.guard import Guard
        from legogcd.review.session import Session

        self.session = Session(location, prepare=False)
        guard = Guard(build_app(self.session), ["localhost:1"], "token")
        self.client = TestClient(guard, base_url="http://localhost:1", headers={"origin": "http://localhost:1"})
        self.client.get("/?token=token")

    def state(self) -> dict[str, Any]:
        return self._get("/api/state")

    def next_question(self) -> int:
        """The image of the first question that is about one; pairs of groups are passed over here."""
        items = self._get("/api/queue?count=20")["items"]
        return next(int(item["image"]) for item in items if item["kind"] != "pair")

    def image(self, row: int) -> dict[str, Any]:
        return self._get(f"/api/images?ids={row}")[0]

    def answer(self, row: int, truth: dict[str, str]) -> None:
        """What a person who knows the truth of what is on the screen would do: one decision."""
        state, image = self.state(), self.image(row)
        right = truth[image["path"]]
        group = next(group for group in state["groups"] if group["id"] == image["group"])
        if image["group"] == right:
            edit: dict[str, Any] = {"edit": "confirm", "images": [row]}
        elif right not in state["categories"] and not group["named"] and self._looks_like(group, right, truth):
            edit = {"edit": "name", "group": group["id"], "name": right, "confirm": [row]}
        else:
            edit = {"edit": "move", "images": [row], "into": right}
        answer = self.client.post("/api/edits", json={"version": state["version"], "edit": edit})
        if answer.status_code != 200:
            raise RuntimeError(answer.text)

    def _looks_like(self, group: dict[str, Any], name: str, truth: dict[str, str]) -> bool:
        """Whether most of the typical images on a group's card are of a kind."""
        shown = self._get(f"/api/images?ids={','.join(map(str, group['typical'][:TYPICAL]))}")
        return Counter(truth[image["path"]] for image in shown).most_common(1)[0][0] == name

    def _get(self, path: str) -> Any:
        answer = self.client.get(path)
        if answer.status_code != 200:
            raise RuntimeError(answer.text)
        return answer.json()


def _at_random(page: Page, seed: int) -> Iterator[int]:
    """Images without a label in a random order."""
    flags = np.array(page._get("/api/columns")["round"])
    yield from np.random.default_rng(seed).permutation(np.flatnonzero(flags == 2)).tolist()


def table(rows: list[Row]) -> list[str]:
    lines = ["| images | seed | first round | 100 at random | 100 of the queue | more |", "|---|---|---|---|---|---|"]
    for name, seed in dict.fromkeys((row.dataset, row.seed) for row in rows):
        by = {row.asked: row.all for row in rows if (row.dataset, row.seed) == (name, seed)}
        first, random, queue = (by[asked] for asked in ("nobody", "random", "queue"))
        lines.append(f"| {name} | {seed} | {first:.1f} | {random:.1f} | {queue:.1f} | {queue - random:+.1f} |")
    return lines


def _read(path: Path) -> list[Row]:
    if not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        kinds = {field.name: field.type for field in fields(Row)}
        return [Row(**{name: kinds[name](value) for name, value in row.items()}) for row in csv.DictReader(file)]  # type: ignore[operator]


def _write(path: Path, rows: list[Row]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


if __name__ == "__main__":
    main()
