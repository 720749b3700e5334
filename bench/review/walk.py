"""From a finished run to every group named and the 30 worst images moved: keys and clicks, by commands and in the page.

``python -m bench.review.walk RUN --images DIR`` needs images in folders named after what they show (the truth).
The page is worked by a script in a real browser, on a copy of the run; the commands are those that do the same and are
counted letter by letter. Both end with the same categories, which is checked. Seconds are those of the keystroke-level
model (Card, Moran and Newell 1980): 0.2 for a key, 1.3 for pointing and clicking, 1.35 for each decision.
"""

import argparse
import shutil
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from bench.review.browser import browser_page, server
from legogcd.run.categories import current
from legogcd.run.discovery import read_predictions

WORST = 30
KEY, CLICK, DECISION = 0.2, 1.3, 1.35


@dataclass
class Effort:
    """What hands and head did."""

    keys: int = 0
    clicks: int = 0
    decisions: int = 0

    @property
    def seconds(self) -> float:
        return KEY * self.keys + CLICK * self.clicks + DECISION * self.decisions


@dataclass
class Plan:
    """What is to be done: names of new groups, and images by the group they are in and the one they belong to."""

    names: dict[str, str]
    moves: dict[tuple[str, str], list[int]]


def plan(run: Path) -> tuple[Plan, list[str]]:
    """The work on a run, by the truth in the images' folders; and the paths of its images."""
    table = read_predictions(run)
    paths: list[str] = table["path"].tolist()
    truth = [PurePosixPath(path).parent.name for path in paths]
    groups = table["category"].tolist()
    known = set(table.loc[table["status"] != "novel", "category"])
    names: dict[str, str] = {}
    for group in sorted(set(groups) - known):
        kinds = Counter(kind for kind, mine in zip(truth, groups, strict=True) if mine == group)
        names[group] = next(kind for kind, _ in kinds.most_common() if kind not in {*known, *names.values()})
    called = [names.get(group, group) for group in groups]
    wrong = [row for row in range(len(paths)) if called[row] != truth[row] and truth[row] in {*known, *names.values()}]
    worst = sorted(wrong, key=lambda row: -table["confidence"].iloc[row])[:WORST]
    moves: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in sorted(worst):
        moves[called[row], truth[row]].append(row)
    return Plan(names, dict(moves)), paths


def by_commands(work: Plan, paths: list[str]) -> Effort:
    """The commands that do it: one line per name, one per group and place to go; every letter is typed."""
    lines = [f"legogcd name run {group} {name}" for group, name in work.names.items()]
    for (group, kind), rows in work.moves.items():
        listed = " ".join(paths[row] for row in rows)
        lines.append(f"legogcd split run {group} --into {kind} --images {listed}")
    return Effort(keys=sum(len(line) + 1 for line in lines), decisions=len(lines) + sum(map(len, work.moves.values())))


class Hands:
    """Keys and clicks in the page, counted."""

    def __init__(self, page: Any) -> None:
        self.page, self.effort = page, Effort()

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)
        self.effort.keys += 1

    def write(self, text: str) -> None:
        self.page.keyboard.type(text)
        self.effort.keys += len(text)

    def click(self, target: Any, **options: Any) -> None:
        target.click(**options)
        self.effort.clicks += 1
        self.effort.keys += len(options.get("modifiers", []))


def in_the_page(page: Any, work: Plan) -> Effort:
    """Name every group, then click what is wrong in each group and say once where it goes."""
    hands = Hands(page)
    page.locator(".group-card").first.wait_for()
    hands.press("h")
    for _ in work.names:
        card = page.locator('.group-card[tabindex="0"]')
        name = work.names[card.get_attribute("data-group")]
        left = page.locator(".group-card").count()
        hands.press("n")
        hands.write(name)
        hands.press("Enter")
        if left > 1:
            page.locator(".group-card").nth(left - 1).wait_for(state="detached")
    page.get_by_text("Every group has a name.").wait_for()
    hands.effort.decisions += len(work.names)
    hands.press("h")
    for group in dict.fromkeys(group for group, _ in work.moves):
        hands.press("1")
        hands.click(page.locator(f'.group-card[data-group="{group}"] .mosaic'))
        page.get_by_role("heading", name=group, exact=True).wait_for()
        for (own, kind), rows in work.moves.items():
            if own == group:
                _move(hands, rows, kind)
    return hands.effort


def _move(hands: Hands, rows: list[int], kind: str) -> None:
    """Click images of the group in sight, a run of neighbors as a range; then say where they go."""
    page = hands.page
    order = page.evaluate("[...document.querySelectorAll('.images-box .tile')].map((tile) => Number(tile.dataset.id))")
    for row in sorted(rows, key=lambda one: order.index(one) if one in order else len(order)):
        tile = page.locator(f'.images-box .tile[data-id="{row}"]')
        if not tile.count():
            _scroll_to(hands, row)
        hands.click(tile)
        hands.effort.decisions += 1
    hands.press("m")
    page.get_by_role("dialog").wait_for()
    typed = ""
    while page.locator(".combo-list [role=option] span").first.inner_text() != kind:
        letter = kind[len(typed)]
        hands.write(letter)
        typed += letter
    hands.press("Enter")
    hands.effort.decisions += 1
    page.get_by_role("dialog").wait_for(state="detached")
    page.locator("#told").filter(has_text=kind).wait_for()
    page.locator('.images-box .tile[aria-selected="true"]').first.wait_for(state="detached")


def _scroll_to(hands: Hands, row: int) -> None:
    """Page through the group until an image is there."""
    hands.press("Home")
    for _ in range(40):
        if hands.page.locator(f'.images-box .tile[data-id="{row}"]').count():
            return
        hands.press("PageDown")
        hands.page.wait_for_timeout(60)
    raise SystemExit(f"image {row} is not in the group")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("run", type=Path)
    arguments.add_argument("--images", type=Path, required=True)
    arguments.add_argument("--cache", type=Path)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "run"
        shutil.copytree(given.run, copy)
        (copy / "edits.jsonl").unlink(missing_ok=True)
        work, paths = plan(copy)
        with server(copy, given.images, given.cache) as (_, address), browser_page() as page:
            page.goto(address)
            after = in_the_page(page, work)
        now = dict(zip(*(current(copy)[column].tolist() for column in ("path", "category")), strict=True))
        assert all(now[paths[row]] == kind for (_, kind), rows in work.moves.items() for row in rows)
        assert set(work.names.values()) <= set(now.values())
    before = by_commands(work, paths)
    moved = sum(map(len, work.moves.values()))
    print(f"{len(work.names)} groups named, {moved} images moved between {len(work.moves)} pairs of groups\n")
    print("| | keys | clicks | decisions | seconds by the keystroke-level model |\n|---|---|---|---|---|")
    for title, effort in (("commands", before), ("page", after)):
        print(f"| {title} | {effort.keys} | {effort.clicks} | {effort.decisions} | {effort.seconds:.0f} |")


if __name__ == "__main__":
    main()
