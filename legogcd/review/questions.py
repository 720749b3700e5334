"""What helps most: questions to a person, ordered by how much an answer teaches (doubt × images that would follow).

Two kinds of doubt are counted. Of a group in which nobody has settled a single image nobody has said what it is: its
images all follow the answer to a look at a typical one. Of any other image it may be open where it belongs. The model
votes for the group it is in, the less the more often it was wrong there before; the settled images most like it vote
for theirs; the doubt is what the strongest group lacks to all votes. So an answer that contradicts the model leads to
more questions about what looks like it, until the answers can be foreseen. What follows an answer are the images most
like it, each as far as it is like it and in doubt itself. Questions are chosen one after the other, the best first.
"""

import heapq
from dataclasses import dataclass

import numpy as np

from legogcd.review.insight import Insight, NotReady, Suspicion
from legogcd.review.snapshot import Snapshot

_PAIR = "like-one"  # the key of the finding about two groups that look like one
_USUAL_ERROR = 0.2  # share of a group's images that are wrong before anything was asked about it
_SURE = 1.5  # answers after which what was found counts half, and what is usual half
_OWN = 1.0  # settled neighbors that count as much as the model
_BLOCK = 4096


@dataclass(frozen=True)
class Question:
    """What is asked about a group, an image or a pair of groups, why, and how many images would follow the answer."""

    kind: str  # group, image or pair
    group: str
    image: int
    other: str | None
    question: str
    why: str
    follows: int
    value: float


class Doubts:
    """How much is in doubt of every image, and how much an answer about one of them would teach."""

    def __init__(self, insight: Insight, now: Snapshot, belief: np.ndarray, found: np.ndarray) -> None:
        """``belief`` [N] is how much the model believes in the group each image is in, ``found`` [N] the group it
        would put it in, -1 where there is none such now."""
        if insight.likeness is None or insight.neighbors is None or insight.alike is None:
            raise NotReady("neighbors are")
        self.now, self.near, self.alike = now, insight.neighbors, insight.alike
        self.open = ~now.settled & ~now.rejected
        settled_groups = np.bincount(now.group, now.settled, len(now.groups)) > 0
        self.unsaid = ~settled_groups[now.group] & self.open  # of these nobody has said what they are
        self.unsaid_size = np.bincount(now.group, self.unsaid, len(now.groups))
        self.wrong = 1 - belief * (1 - errors(now, found)[now.group])  # as far as the model tells
        self.foreseen = np.zeros(len(belief))  # votes for the own group that the answers asked for are likely to bring
        self.doubt = np.zeros(len(belief))
        for start in range(0, len(belief), _BLOCK):
            self._weigh(np.arange(start, min(start + _BLOCK, len(belief))))
        self.typical = _typicality(insight.likeness, now)

    def _weigh(self, rows: np.ndarray) -> None:
        """How much the strongest group lacks to all votes about some images."""
        near = self.near[rows]
        voted = self.now.group[near]  # [n, k]
        votes = self.alike[rows] * self.now.settled[near]
        for_group = np.einsum("nk,njk->nj", votes, voted[:, :, None] == voted[:, None, :])  # what each vote's group has
        own = (votes * (voted == self.now.group[rows][:, None])).sum(1) + self.foreseen[rows]
        own += _OWN * (1 - self.wrong[rows])
        strongest = np.maximum(own, for_group.max(1, initial=0))
        doubt = 1 - strongest / (_OWN + votes.sum(1) + self.foreseen[rows])
        self.doubt[rows] = np.where(self.open[rows], doubt, 0.0)

    def value(self, row: int) -> float:
        """How much an answer about an image teaches, in images."""
        group = self.now.group[row]
        local = float(self.doubt[row]) + float(self.alike[row] @ self.doubt[self.near[row]])
        return local + (float(self.typical[row] * self.unsaid_size[group]) if self.unsaid[row] else 0.0)

    def values(self) -> np.ndarray:
        """The same for all images [N]; nothing for those that are settled."""
        local = self.doubt + np.einsum("nk,nk->n", self.alike, self.doubt[self.near])
        whole = np.where(self.unsaid, self.typical * self.unsaid_size[self.now.group], 0.0)
        return np.where(self.open, local + whole, 0.0)

    def follows(self, row: int) -> int:
        """How many images would follow an answer about one, itself included."""
        if self.unsaid[row]:
            return int(self.unsaid_size[self.now.group[row]])
        near = self.near[row]
        same = self.open[near] & (self.alike[row] > 0.5) & (self.doubt[near] > 0)
        return 1 + int(same.sum())

    def answer(self, row: int) -> None:
        """Count an image as answered: what follows from it is in doubt no more, or less."""
        group, near = self.now.group[row], self.near[row]
        self.open[row] = False
        self.foreseen[near] += self.alike[row] * (self.now.group[near] == group)
        self._weigh(np.append(near, row))
        if self.unsaid[row]:
            self.unsaid[self.now.group == group] = False
            self.unsaid_size[group] = 0


def questions(insight: Insight, now: Snapshot, belief: np.ndarray, found_in: np.ndarray, count: int) -> list[Question]:
    """The ``count`` questions that help most, best first; ``belief`` and ``found_in`` as `Doubts` has them."""
    doubts = Doubts(insight, now, belief, found_in)
    values = doubts.values()
    rows = np.argsort(-values, kind="stable")[: max(2000, 20 * count)]
    heap = [(-float(values[row]), int(row)) for row in rows if values[row] > 0]
    heapq.heapify(heap)
    found: list[Question] = []
    while heap and len(found) < count:
        row = heapq.heappop(heap)[1]
        value = doubts.value(row) if doubts.open[row] else 0.0
        if heap and value < -heap[0][0] - 1e-9:  # an answer before it took some of its worth: others may be better now
            if value > 0:
                heapq.heappush(heap, (-value, row))
            continue
        if value <= 0:
            continue
        found.append(_question(doubts, row, value))
        doubts.answer(row)
    pairs = _pairs(insight, now)
    return sorted([*found, *pairs], key=lambda question: -question.value)[:count]


def _question(doubts: Doubts, row: int, value: float) -> Question:
    now = doubts.now
    name, follows = now.groups[now.group[row]], doubts.follows(row)
    if doubts.unsaid[row]:
        named = doubts.now.is_named(int(now.group[row]))
        question = f"Is this {name}?" if named else f"What is {name}?"
        why = f"nobody has settled an image of it yet; {follows} images follow"
        return Question("group", name, row, None, question, why, follows, value)
    why = f"it may be wrong in {name} ({100 * doubts.doubt[row]:.0f} % doubt); {follows} like it follow"
    return Question("image", name, row, None, "What is this?", why, follows, value)


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
        larger,
        f"Are {smaller} and {larger} one kind?",
        f"their images lie close together; {sizes[smaller]} images would follow",
        sizes[smaller],
        doubt * sizes[smaller],
    )


def errors(now: Snapshot, found: np.ndarray) -> np.ndarray:
    """How often the model is wrong about each group [G], told from what a person said about images it put there."""
    asked = now.confirmed & (found >= 0)
    tries = np.bincount(found[asked], minlength=len(now.groups))
    wrong = np.bincount(found[asked & (found != now.group)], minlength=len(now.groups))
    return np.asarray((wrong + _SURE * _USUAL_ERROR) / (tries + _SURE))


def _typicality(units: np.ndarray, now: Snapshot) -> np.ndarray:
    """How near to the middle of its group every image is [N], from 0 to 1, by rank."""
    typical = np.zeros(len(units))
    for number in range(len(now.groups)):
        members = now.members(number)
        own = units[members]
        near = np.argsort(np.argsort(own @ own.mean(0), kind="stable"), kind="stable")
        typical[members] = (near + 1) / len(members)
    return typical
