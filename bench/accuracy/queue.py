"""Does the queue of `legogcd review` help most? ``python -m bench.accuracy.queue --data … --work DIR --out CSV``.

A finished run is answered 100 questions through the page's own API: as the queue asks them; about images drawn at
random, one at a time; and about random ones with what a question about them would show, so that only the choice is
another. The truth of the image in question answers, it never chooses; shown with it, what is something else is clicked
out. Each way then trains the next round (the same settings, the same number of classes), which is scored as the person
has it in the end, and on the images that neither that way nor the queue showed. Rows that the file has are not computed
again; ``--work`` keeps the runs.
"""

import argparse
import csv
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from bench.accuracy.study import DataSet
from legogcd.evaluation import clustering_accuracy
from legogcd.run import Job, RunOptions, discover
from legogcd.run.categories import current
from legogcd.run.opening import open_job
from legogcd.run.options import LabelOptions

QUESTIONS = 100
TYPICAL = 8  # images of a group that a person sees beside the question
WAYS = ("random", "random-clumps", "queue")


@dataclass(frozen=True)
class Row:
    """All of a round in percent: over what had no label in the first, and over what neither this way of asking nor the
    queue showed, there with that of the queue."""

    dataset: str
    seed: int
    asked: str  # how: one of WAYS, or nobody (the first round)
    questions: int
    settled: int  # images whose label the answers gave
    clicked_out: int  # pictures that were something else than the one in question
    images: int
    all: float
    unshown: int
    all_unshown: float
    queue_unshown: float


@dataclass
class Asked:
    """What was done with the questions."""

    shown: set[int] = field(default_factory=set)
    settled: int = 0
    clicked_out: int = 0


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
    """The four rows of a data set and a seed."""
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
    first = folder / "first"
    if not (first / "predictions.csv").exists():
        discover(Job(collection, settings, data.name), first, resume=(first / "config.json").exists())
    asked = {way: answer_questions(folder, way, data.folder, of_name, seed, options.cache) for way in WAYS}
    asked = {"nobody": Asked(), **asked}
    rounds = {way: next_round(folder, way, data.folder, settings) for way in WAYS}
    found = current(first)
    open_before = (found["status"] != "labelled").to_numpy()
    rows = []
    for way, what in asked.items():
        unshown = open_before.copy()
        unshown[list(what.shown | asked["queue"].shown)] = False
        whole, left = (set(found["path"][mask]) for mask in (open_before, unshown))
        run = rounds.get(way, first)
        rows.append(
            Row(
                dataset=data.name,
                seed=seed,
                asked=way,
                questions=QUESTIONS if way in WAYS else 0,
                settled=what.settled,
                clicked_out=what.clicked_out,
                images=len(whole),
                all=score(run, whole, of_name),
                unshown=len(left),
                all_unshown=score(run, left, of_name),
                queue_unshown=score(rounds["queue"], left, of_name),
            )
        )
    return rows


def next_round(folder: Path, way: str, images: Path, settings: RunOptions) -> Path:
    """The round after the answers; the same answers need no second training."""
    run, out = folder / way, folder / f"{way}-next"
    trained_on = out / "answers.jsonl"
    log = (run / "edits.jsonl").read_bytes()
    if not trained_on.exists() or trained_on.read_bytes() != log:
        shutil.rmtree(out, ignore_errors=True)
        job, _ = open_job(images, LabelOptions(), settings, lambda note: None, run)
        discover(job, out)
        trained_on.write_bytes(log)
    return out


def score(run: Path, scored: set[str], truth: dict[str, str]) -> float:
    """All, in percent, over some images of a run, labelled ones as they are labelled."""
    table = current(run)
    table = table[table["path"].isin(scored)]
    if not len(table):
        return float("nan")
    classes = {name: number for number, name in enumerate(sorted(set(truth.values())))}
    names = {name: number for number, name in enumerate(sorted(set(table["category"])))}
    true = table["path"].map(truth).map(classes).to_numpy(np.int64)
    found = table["category"].map(names).to_numpy(np.int64)
    return round(100 * clustering_accuracy(true, found, n_known=1).all, 2)


def answer_questions(
    folder: Path, way: str, images: Path, truth: dict[str, str], seed: int, cache: Path | None
) -> Asked:
    """Ask a copy of the first run's page and answer, question after question."""
    from legogcd.review.prepare import prepare
    from legogcd.review.workspace import Location

    shutil.rmtree(folder / way, ignore_errors=True)
    shutil.copytree(folder / "first", folder / way)
    location = Location(folder / way, images, cache=cache)
    prepare(location)
    asked = Asked()
    with Page(location, truth) as page:
        before = page.state()["totals"]["confirmed"]
        drawn = _at_random(page, seed)
        for _ in range(QUESTIONS):
            if way == "queue":
                image, shown = page.next_question()
            else:
                image = next(row for row in drawn if page.is_open(row))
                shown = page.session.desk.answers.asked_with(image) if way == "random-clumps" else [image]
            asked.shown.update(shown)
            asked.clicked_out += len(shown) - page.answer(image, shown)
        asked.settled = page.state()["totals"]["confirmed"] - before
    return asked


class Page:
    """The page's API in this process, as a browser would use it, and a person in front of it who knows the truth."""

    def __init__(self, location: Any, truth: dict[str, str]) -> None:
        from fastapi.testclient import TestClient

        from legogcd.review.app import build_app
        from legogcd.review.guard import Guard
        from legogcd.review.session import Session

        self.session, self.truth = Session(location, prepare=False), truth
        guard = Guard(build_app(self.session), ["localhost:1"], "token")
        self.client = TestClient(guard, base_url="http://localhost:1", headers={"origin": "http://localhost:1"})

    def __enter__(self) -> "Page":
        self.client.__enter__()
        self.client.get("/?token=token")
        return self

    def __exit__(self, *raised: Any) -> None:
        self.client.__exit__(*raised)

    def state(self) -> dict[str, Any]:
        return self._get("/api/state")

    def next_question(self) -> tuple[int, list[int]]:
        """The first question that is about images: the one in question, and all that are shown with it."""
        items = self._get("/api/queue?count=20")["items"]
        item = next(item for item in items if item["kind"] != "pair")
        return int(item["image"]), item["images"]

    def is_open(self, row: int) -> bool:
        return not self._images([row])[0]["label"]

    def answer(self, row: int, shown: list[int]) -> int:
        """One decision about what is on the screen: click out what is something else, say what the rest are; how many
        those were."""
        state, image = self.state(), self._images([row])[0]
        right = self.truth[image["path"]]
        kinds = zip(shown, self._kinds(shown), strict=True)
        chosen = [one for one, kind in kinds if kind == right]
        group = next(group for group in state["groups"] if group["id"] == image["group"])
        alike = Counter(self._kinds(group["typical"][:TYPICAL])).most_common(1)[0][0] == right
        if image["group"] == right:
            edit: dict[str, Any] = {"edit": "confirm", "images": chosen}
        elif alike and not group["named"] and right not in state["categories"]:
            edit = {"edit": "name", "group": group["id"], "name": right, "confirm": chosen}
        elif alike and not group["named"]:
            edit = {"edit": "merge", "into": right, "groups": [group["id"]], "confirm": chosen}
        else:
            edit = {"edit": "move", "images": chosen, "into": right}
        out = [one for one in shown if one not in chosen] if edit["edit"] != "move" else []
        answer = self.client.post("/api/edits", json={"version": state["version"], "edit": edit, "out": out})
        if answer.status_code != 200:
            raise RuntimeError(answer.text)
        return len(chosen)

    def _kinds(self, rows: list[int]) -> list[str]:
        return [self.truth[image["path"]] for image in self._images(rows)]

    def _images(self, rows: list[int]) -> list[dict[str, Any]]:
        return self._get(f"/api/images?ids={','.join(map(str, rows))}")

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
    """One line per data set and seed: All of the first round and after each way of asking, then what the queue is ahead
    of each way on images that neither showed."""
    ahead = " | ".join(f"queue − {way}, unshown" for way in WAYS[:-1])
    lines = [f"| images | seed | nobody | {' | '.join(WAYS)} | {ahead} |", "|---" * 8 + "|"]
    for name, seed in dict.fromkeys((row.dataset, row.seed) for row in rows):
        by = {row.asked: row for row in rows if (row.dataset, row.seed) == (name, seed)}
        figures = [f"{by[way].all:.1f}" for way in ("nobody", *WAYS)]
        for row in (by[way] for way in WAYS[:-1]):
            figures.append(f"{row.queue_unshown - row.all_unshown:+.1f} of {row.unshown}")
        lines.append(f"| {name} | {seed} | {' | '.join(figures)} |")
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
