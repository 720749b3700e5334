"""What the page knows beyond predictions.csv: likeness, map, findings and votes, as far as they are computed yet."""

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from legogcd.errors import UserError
from legogcd.review.kept import BELIEF, FINDINGS, LIKENESS, MAP, NEIGHBORS, PIECES, VOTES, Kept
from legogcd.review.ordering import keep_order, order_by_likeness
from legogcd.review.snapshot import Snapshot

_ORDERS_HELD = 400
_TYPICAL = 8
_MISFIT = "outliers"  # the key of the finding about an image that fits nowhere: who confirms it has looked


class NotReady(UserError):  # noqa: N818 - it names the state
    """It is still being computed."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} not ready yet: computed in the background, the page is told when they are")


@dataclass(frozen=True)
class Suspicion:
    """A finding about images in the groups they had; as long as they are there, it is shown."""

    kind: str
    text: str
    images: tuple[int, ...]
    groups: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Votes:
    """For every image the names a model would give it: V classes [N, V] of a vocabulary, with weights [N, V]."""

    classes: np.ndarray
    weights: np.ndarray
    vocabulary: tuple[str, ...]
    source: str


class Insight:
    """Pieces appear as they are computed; ``stamp`` grows with each. Threads may share one."""

    def __init__(self, kept: Kept, n_images: int) -> None:
        self.kept, self.n_images = kept, n_images
        self.stamp = 0
        self.likeness: np.ndarray | None = None  # [N, d]; dot products are cosines, nearly
        self.belief: np.ndarray | None = None  # [N, K] probabilities of the prototypes
        self.neighbors: np.ndarray | None = None  # [N, k]
        self.alike: np.ndarray | None = None  # [N, k] cosines with them, 0 at least
        self.map: np.ndarray | None = None  # [N, 2] in -1..1
        self.votes: Votes | None = None
        self.suspicions: list[Suspicion] = []
        self.searched: object = None  # after which edits they were found, as `digest_of_edits` says it
        self._loaded: set[str] = set()
        self._orders: dict[str, np.ndarray] = {}
        self._lock = threading.Lock()

    @property
    def ready(self) -> list[str]:
        """The pieces that are there."""
        return [piece for piece in PIECES if piece in self._loaded]

    def refresh(self) -> list[str]:
        """Take in what was computed since; returns the new pieces."""
        fresh = []
        searched_again = FINDINGS in self._loaded and self.kept.facts(FINDINGS).get("edits") != self.searched
        for piece in PIECES:
            if (piece not in self._loaded or (piece == FINDINGS and searched_again)) and self.kept.has(piece):
                found = self.kept.load(piece)
                if found is not None and self._take(piece, *found):
                    self._loaded.add(piece)
                    fresh.append(piece)
        self.stamp += len(fresh)
        return fresh

    def missing(self) -> list[str]:
        """The pieces that are to be computed, those that are damaged too."""
        self.refresh()
        return [piece for piece in PIECES if piece not in self._loaded]

    def points(self) -> np.ndarray:
        if self.likeness is None:
            raise NotReady("features are")
        return self.likeness

    def order(self, name: str, members: np.ndarray, confidence: np.ndarray) -> tuple[np.ndarray, str]:
        """The images of a group in a row, and by what: likeness, or confidence as long as features are missing.

        Images keep their places when others leave; those that come stand beside what they look like.
        """
        if self.likeness is None:
            return members[np.argsort(-confidence[members], kind="stable")], "confidence"
        with self._lock:
            before = self._orders.get(name)
        if before is None or len(np.intersect1d(before, members)) < len(members) / 2:
            found = members[order_by_likeness(self.likeness[members])]
        else:
            found = keep_order(before, members, self.likeness)
        with self._lock:
            self._orders.pop(name, None)
            self._orders[name] = found
            while len(self._orders) > _ORDERS_HELD:
                del self._orders[next(iter(self._orders))]
        return found, "likeness"

    def typical(self, members: np.ndarray, confidence: np.ndarray, most: int = _TYPICAL) -> list[int]:
        """The images of a group nearest to its middle; the surest ones as long as features are missing."""
        score = confidence[members]
        if self.likeness is not None:
            own = self.likeness[members]
            score = own @ own.mean(0)
        if len(members) > most:
            best = np.argpartition(-score, most)[:most]
            members, score = members[best], score[best]
        ordered: list[int] = members[np.lexsort((members, -score))].tolist()
        return ordered

    def similar(self, ids: np.ndarray, count: int, without: np.ndarray) -> list[int]:
        """The images most like any of ``ids``, nearest first, without them and without ``without`` [N] bool."""
        points = self.points()
        score = np.full(len(points), -np.inf, np.float32)
        for start in range(0, len(ids), 64):
            score = np.maximum(score, (points @ points[ids[start : start + 64]].T).max(1))
        score[ids] = -np.inf
        score[without] = -np.inf
        count = min(count, int(np.isfinite(score).sum()))
        if not count:
            return []
        best = np.argpartition(-score, count - 1)[:count]
        ranked: list[int] = best[np.lexsort((best, -score[best]))].tolist()
        return ranked

    def suspicions_now(self, now: Snapshot) -> dict[int, list[Suspicion]]:
        """Suspicions by group, those that still hold: their images are where they were, their groups still there.

        After a rest they are searched for again (`Preparing.keep_up`); this is for what was edited since.
        """
        found: dict[int, list[Suspicion]] = {}
        for suspicion in self.suspicions:
            places = {now.place.get(name) for name in suspicion.groups}
            if None in places or not suspicion.images:
                continue
            rows = list(suspicion.images)
            holders = {int(number) for number in now.group[rows]}
            looked_at = suspicion.kind == _MISFIT and bool(now.confirmed[rows].all())
            if holders <= places and not looked_at:
                for number in sorted(holders):
                    found.setdefault(number, []).append(suspicion)
        return found

    def _take(self, piece: str, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> bool:
        """Whether a piece fits the run and was taken in."""
        try:
            if any(len(array) != self.n_images for array in arrays.values()):
                return False
            if piece == LIKENESS:
                self.likeness = arrays["reduced"]
            elif piece == BELIEF:
                self.belief = arrays["belief"]
            elif piece == NEIGHBORS:
                self.neighbors, self.alike = arrays["rows"], arrays["alike"]
            elif piece == MAP:
                self.map = arrays["points"]
            elif piece == FINDINGS:
                self.suspicions = [
                    Suspicion(entry["kind"], entry["text"], tuple(entry["images"]), tuple(entry["groups"]))
                    for entry in facts["found"]
                ]
                self.searched = facts["edits"]
            elif piece == VOTES:
                names = tuple(facts["vocabulary"])
                self.votes = Votes(arrays["classes"], arrays["weights"], names, facts["source"]) if names else None
        except (KeyError, TypeError):
            return False
        return True
