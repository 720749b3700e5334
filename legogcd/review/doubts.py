"""How much is in doubt of every image, which images one answer settles together, and how much it teaches.

Two kinds of doubt are counted. Of a group in which nobody has settled a single image nobody has said what it is: its
images all follow the answer to a look at typical ones. Of any other image it may be open where it belongs. The model
votes for the group it is in, the less the more often it was wrong there before; the settled images most like it vote
for theirs; the doubt is what the strongest group lacks to all votes. So an answer that contradicts the model leads to
more questions about what looks like it, until the answers can be foreseen. An image that a person clicked out of its
group has no votes for that group.
"""

import numpy as np

from legogcd.review.insight import Insight, NotReady
from legogcd.review.snapshot import Snapshot

CLUMP = 12  # images that a person sees at once and settles with one answer
_USUAL_ERROR = 0.2  # share of a group's images that are wrong before anything was asked about it
_SURE = 1.5  # answers after which what was found counts half, and what is usual half
_OWN = 1.0  # settled neighbors that count as much as the model
_BESIDE = 0.5  # what an answer teaches about images like it that are not on the screen
_BLOCK = 4096


class Doubts:
    """Doubts about all images [N], and what an answer about some of them would do to the others."""

    def __init__(
        self, insight: Insight, now: Snapshot, belief: np.ndarray, found: np.ndarray, out: np.ndarray | None = None
    ) -> None:
        """``belief`` [N] is how much the model believes in the group each image is in, ``found`` [N] the group it
        would put it in, -1 where there is none such now; ``out`` [N] bool, clicked out of the group they are in."""
        if insight.likeness is None or insight.neighbors is None or insight.alike is None:
            raise NotReady("neighbors are")
        self.now, self.points, self.near, self.alike = now, insight.likeness, insight.neighbors, insight.alike
        self.open = ~now.settled & ~now.rejected
        self.out = np.zeros(len(belief), bool) if out is None else out
        settled_groups = np.bincount(now.group, now.settled, len(now.groups)) > 0
        self.unsaid = ~settled_groups[now.group] & self.open  # of these nobody has said what they are
        self.unsaid_size = np.bincount(now.group, self.unsaid, len(now.groups))
        self.wrong = 1 - belief * (1 - errors(now, found)[now.group])  # as far as the model tells
        self.foreseen = np.zeros(len(belief))  # votes for the own group that the answers asked for are likely to bring
        self.doubt = np.zeros(len(belief))
        self.guess = now.group.copy()  # the group with the most votes
        for start in range(0, len(belief), _BLOCK):
            self._weigh(np.arange(start, min(start + _BLOCK, len(belief))))
        self.typical = _typicality(insight.likeness, now)

    def _weigh(self, rows: np.ndarray) -> None:
        """How much the strongest group lacks to all votes about some images."""
        near, group, out = self.near[rows], self.now.group[rows], self.out[rows]
        voted = self.now.group[near]  # [n, k]
        votes = self.alike[rows] * self.now.settled[near]
        votes *= ~(out[:, None] & (voted == group[:, None]))
        for_group = np.einsum("nk,njk->nj", votes, voted[:, :, None] == voted[:, None, :])  # what each vote's group has
        own = (votes * (voted == group[:, None])).sum(1) + self.foreseen[rows]
        own = np.where(out, 0.0, own + _OWN * (1 - self.wrong[rows]))
        best = for_group.argmax(1)
        most = np.take_along_axis(for_group, best[:, None], 1)[:, 0]
        doubt = 1 - np.maximum(own, most) / (_OWN + votes.sum(1) + self.foreseen[rows])
        self.doubt[rows] = np.where(self.open[rows], doubt, 0.0)
        self.guess[rows] = np.where(own >= most, group, np.take_along_axis(voted, best[:, None], 1)[:, 0])

    def _with(self, row: int, others: np.ndarray) -> np.ndarray:
        """Those of the others that one answer may settle together with an image, as far as is known."""
        same = (self.now.group[others] == self.now.group[row]) & (self.out[others] == self.out[row])
        found: np.ndarray = others[same & self.open[others] & (others != row)]
        return found

    def clump(self, row: int) -> np.ndarray:
        """An image and the open ones of its group most like it, nearest first: what one answer is about."""
        near = self._with(row, self.near[row])
        if len(near) < CLUMP - 1:  # the neighbors that are kept are settled, or in other groups: search among all
            near = self._with(row, self.now.members(int(self.now.group[row])))
            near = near[np.argsort(-(self.points[near] @ self.points[row]), kind="stable")]
        return np.append(row, near[: CLUMP - 1])

    def value(self, clump: np.ndarray) -> float:
        """How much an answer about an image and those most like it teaches, in images."""
        row = int(clump[0])
        alike = np.clip(self.points[clump[1:]] @ self.points[row], 0, 1)
        shown = float(self.doubt[row]) + float(alike @ self.doubt[clump[1:]])
        others = ~np.isin(self.near[row], clump)
        beside = float((self.alike[row] * others) @ self.doubt[self.near[row]])
        whole = float(self.typical[row] * self.unsaid_size[self.now.group[row]]) if self.unsaid[row] else 0.0
        return shown + _BESIDE * beside + whole

    def values(self) -> np.ndarray:
        """About the same for all images [N], told from their kept neighbors; nothing for those that are settled."""
        with_it = self.open[self.near] & (self.now.group[self.near] == self.now.group[:, None])  # [N, k]
        weight = np.where(with_it & (with_it.cumsum(1) < CLUMP), 1.0, _BESIDE)
        local = self.doubt + np.einsum("nk,nk,nk->n", self.alike, weight, self.doubt[self.near])
        whole = np.where(self.unsaid, self.typical * self.unsaid_size[self.now.group], 0.0)
        return np.where(self.open, local + whole, 0.0)

    def follows(self, clump: np.ndarray) -> int:
        """How many images would follow an answer, those on the screen included."""
        row = int(clump[0])
        if self.unsaid[row]:
            return int(self.unsaid_size[self.now.group[row]])
        near = self.near[clump]
        likely = near[self.open[near] & (self.alike[clump] > 0.5) & (self.doubt[near] > 0)]
        return len(np.union1d(likely, clump))

    def answer(self, clump: np.ndarray) -> None:
        """Count images as answered: what follows from them is in doubt no more, or less."""
        group, near = self.now.group[clump[0]], self.near[clump]
        self.open[clump] = False
        if self.guess[clump[0]] == group:
            np.add.at(self.foreseen, near, self.alike[clump] * (self.now.group[near] == group))
        if self.unsaid[clump[0]]:
            self.unsaid[self.now.members(int(group))] = False
            self.unsaid_size[group] = 0
        self._weigh(np.union1d(near, clump))


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
