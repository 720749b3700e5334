"""What helps most: questions to a person, ordered by how much an answer teaches (doubt × images that would follow).

A question shows an image and those of its group most like it, a dozen that one answer settles; what is something else
is clicked out. Questions are chosen one after the other, the best first, each for what the ones before leave in doubt.
"""

import heapq
from dataclasses import dataclass

import numpy as np

from legogcd.review.doubts import Doubts
from legogcd.review.insight import Insight, Suspicion
from legogcd.review.ordering import order_by_likeness
from legogcd.review.snapshot import Snapshot
from legogcd.wording import counted

_PAIR = "like-one"  # the key of the finding about two groups that look like one


@dataclass(frozen=True)
class Question:
    """What is asked about images of a group or a pair of groups, why, and how many images would follow the answer."""

    kind: str  # group: nobody said what it is; out: clicked out of it; images: they are in doubt; pair
    group: str
    image: int  # the one the others were chosen for
    images: tuple[int, ...]  # those that one answer settles, in an order by likeness; none of a pair
    other: str | None  # of a pair: the larger group; of images: where what is settled says they belong
    question: str
    why: str
    follows: int
    value: float


def questions(insight: Insight, doubts: Doubts, count: int) -> list[Question]:
    """The ``count`` questions that help most, best first."""
    values = doubts.values()
    rows = np.argsort(-values, kind="stable")[: max(2000, 20 * count)]
    heap = [(-float(values[row]), int(row)) for row in rows if values[row] > 0]
    heapq.heapify(heap)
    found: list[Question] = []
    while heap and len(found) < count:
        row = heapq.heappop(heap)[1]
        if not doubts.open[row]:
            continue
        clump = doubts.clump(row)
        value = doubts.value(clump)
        if heap and value < -heap[0][0] - 1e-9:  # an answer before it took some of its worth: others may be better now
            if value > 0:
                heapq.heappush(heap, (-value, row))
            continue
        if value <= 0:
            continue
        found.append(_question(doubts, clump, value))
        doubts.answer(clump)
    pairs = _pairs(insight, doubts.now)
    return sorted([*found, *pairs], key=lambda question: -question.value)[:count]


def _question(doubts: Doubts, clump: np.ndarray, value: float) -> Question:
    now, row = doubts.now, int(clump[0])
    group, guess = int(now.group[row]), int(doubts.guess[row])
    if doubts.unsaid[row]:
        kind, guess, why = "group", group, f"nobody has settled an image of {now.groups[group]} yet"
    elif doubts.out[row]:
        kind, why = "out", f"clicked out of {now.groups[group]}"
    elif guess != group:
        kind, why = "images", f"in {now.groups[group]} now, where settled ones like {_them(clump)} are not"
    else:
        kind, why = "images", f"{100 * doubts.doubt[clump].mean():.0f} % doubt about {_them(clump)}"
    follows = doubts.follows(clump)
    return Question(
        kind=kind,
        group=now.groups[group],
        image=row,
        images=tuple(clump[order_by_likeness(doubts.points[clump])].tolist()),
        other=now.groups[guess] if guess != group else None,
        question=_asked(clump, now.groups[guess], now.is_named(guess) and (kind != "out" or guess != group)),
        why=f"{why}; {counted(follows, 'image')} {'follow' if follows > 1 else 'follows'}",
        follows=follows,
        value=value,
    )


def _asked(clump: np.ndarray, name: str, is_name: bool) -> str:
    are_these = "are these" if len(clump) > 1 else "is this"
    return f"{are_these.capitalize()} {name}?" if is_name else f"What {are_these}?"


def _them(clump: np.ndarray) -> str:
    return "them" if len(clump) > 1 else "it"


def _pairs(insight: Insight, now: Snapshot) -> list[Question]:
    """Two groups that look like one: the smaller would follow, if they are."""
    found: dict[tuple[str, ...], Question] = {}
    for listed in insight.suspicions_now(now).values():
        for suspicion in listed:
            if suspicion.kind == _PAIR and len(suspicion.groups) == 2 and suspicion.groups not in found:
                found[suspicion.groups] = _pair(suspicion, now)
    return list(found.values())


def _pair(suspicion: Suspicion, now: Snapshot) -> Question:
    sizes = {name: len(now.members(now.place[name])) for name in suspicion.groups}
    smaller, larger = sorted(suspicion.groups, key=lambda name: (sizes[name], name))
    doubt = 0.25  # most pairs that look alike are two kinds all the same
    return Question(
        "pair",
        smaller,
        suspicion.images[0],
        (),
        larger,
        f"Are {smaller} and {larger} one kind?",
        f"their images lie close together; {sizes[smaller]} images would follow",
        sizes[smaller],
        doubt * sizes[smaller],
    )
