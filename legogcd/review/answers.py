"""What the page is told: the state of the run, a group's images in order, and everything else it asks for, as JSON."""

import threading
from collections.abc import Iterable
from typing import Any

import numpy as np

from legogcd.errors import UserError
from legogcd.review.doubts import Doubts
from legogcd.review.insight import Insight, NotReady
from legogcd.review.proposals import parts_of
from legogcd.review.questions import questions
from legogcd.review.snapshot import Snapshot
from legogcd.review.suggestions import Suggestion, suggest_names
from legogcd.review.workspace import Workspace
from legogcd.wording import counted

Json = dict[str, Any]
_UNSURE, _CONFIRMED, _LABELLED, _SUSPICIOUS = 1, 2, 4, 8
MOST_ASKED = 500  # images described in one answer


class Answers:
    """Answers about a run from its workspace and what is known of its images. Threads may share one."""

    def __init__(self, workspace: Workspace, insight: Insight) -> None:
        self.workspace, self.insight = workspace, insight
        self._lock = threading.Lock()
        self._state: tuple[tuple[int, int], Json] | None = None
        self._typical: dict[str, tuple[np.ndarray, list[int]]] = {}
        self._stamp = 0
        self._out: dict[int, str] = {}  # images that a person clicked out of a group while others of it were settled

    def state(self) -> Json:
        """Everything about the groups; the same object until something changes."""
        now, stamp = self.workspace.now(), self.insight.stamp
        with self._lock:
            if self._state is None or self._state[0] != (now.version, stamp):
                if stamp != self._stamp:
                    self._typical, self._stamp = {}, stamp
                self._state = (now.version, stamp), self._state_of(now)
            return self._state[1]

    def order(self, group: str) -> Json:
        work, now = self.workspace, self.workspace.now()
        number = work.group_number(group, now)
        ids, by = self.insight.order(now.groups[number], now.members(number), work.confidence)
        flags = self._flags(now)
        return {
            "group": now.groups[number],
            "version": now.version,
            "by": by,
            "ids": ids.tolist(),
            "confidence": np.round(work.confidence[ids], 3).tolist(),
            "flags": flags[ids].tolist(),
        }

    def images(self, ids: list[int]) -> list[Json]:
        if len(ids) > MOST_ASKED:
            raise UserError(f"{len(ids)} images were asked for; {MOST_ASKED} at a time")
        work, now = self.workspace, self.workspace.now()
        return [
            {
                "id": row,
                "name": work.names[row].rpartition("/")[2],
                "path": work.names[row],
                "group": now.groups[now.group[row]],
                "predicted": work.predicted[row],
                "confidence": round(float(work.confidence[row]), 4),
                "unsure": bool(self._unsure(now)[row]),
                "confirmed": bool(now.confirmed[row]),
                "label": now.groups[now.group[row]] if now.settled[row] else None,
            }
            for row in map(work.checked, ids)
        ]

    def columns(self) -> Json:
        work, now = self.workspace, self.workspace.now()
        return {
            "version": now.version,
            "groups": list(now.groups),
            "group": now.group.tolist(),
            "confidence": np.round(work.confidence, 3).tolist(),
            "flags": self._flags(now).tolist(),
            "round": np.where(now.labelled, 0, np.where(now.confirmed, 1, 2)).tolist(),
        }

    def map_bytes(self) -> bytes:
        if self.insight.map is None:
            raise NotReady("the map's places are")
        return self.insight.map.astype("<f4").tobytes()

    def similar(self, ids: list[int], count: int) -> Json:
        rows = np.array([self.workspace.checked(row) for row in ids], np.int64)
        if not len(rows):
            raise UserError("no image was given to look for more like it")
        return {"ids": self.insight.similar(rows, count, self.workspace.now().rejected)}

    def proposals(self, group: str, parts: int | None) -> Json:
        now = self.workspace.now()
        number = self.workspace.group_number(group, now)
        members = now.members(number)
        found = parts_of(members, self.insight.points()[members], parts)
        listed = [{"ids": part.rows.tolist(), "typical": part.typical, "size": len(part.rows)} for part in found]
        return {"group": now.groups[number], "version": now.version, "parts": listed, "chosen_parts": len(listed)}

    def queue(self, count: int) -> Json:
        """What helps most, best first."""
        now = self.workspace.now()
        found = questions(self.insight, self._doubts(now), count)
        return {"version": now.version, "items": [{**vars(item), "value": round(item.value, 3)} for item in found]}

    def asked_with(self, row: int) -> list[int]:
        """The images that a question about one would show, itself first."""
        found: list[int] = self._doubts(self.workspace.now()).clump(row).tolist()
        return found

    def click_out(self, ids: Iterable[int]) -> None:
        """Images are not what their group is: a hint for later questions, no decision."""
        now = self.workspace.now()
        for row in map(self.workspace.checked, ids):
            self._out[row] = now.groups[now.group[row]]

    def _doubts(self, now: Snapshot) -> Doubts:
        out = np.zeros(len(now.group), bool)
        still = [row for row, group in self._out.items() if now.groups[now.group[row]] == group]
        out[still] = True
        return Doubts(self.insight, now, *self._belief(now), out)

    def _belief(self, now: Snapshot) -> tuple[np.ndarray, np.ndarray]:
        """How much the model believes in the group each image is in [N], and the group it would put it in [N]."""
        if self.insight.belief is None:
            raise NotReady("the model's doubts are")
        categories = self.workspace.categories()
        belief = categories.belief(self.insight.belief)  # [N, C]
        place = {name: number for number, name in enumerate(categories.names)}
        column = np.array([place.get(name, -1) for name in now.groups])[now.group]
        own = np.where(column >= 0, belief[np.arange(len(belief)), column], belief.max(1))
        found = np.array([now.place.get(name, -1) for name in categories.names])[belief.argmax(1)]
        return own.astype(np.float32), found

    def _state_of(self, now: Snapshot) -> Json:
        work = self.workspace
        unsure, suspicions = self._unsure(now), self.insight.suspicions_now(now)
        suggestions = suggest_names(self.insight.votes, now)
        count = len(now.groups)
        sizes = np.bincount(now.group, minlength=count)
        confirmed, labelled, doubted = (
            np.bincount(now.group, mask, count).astype(int) for mask in (now.confirmed, now.labelled, unsure)
        )
        open_sums = np.bincount(now.group, work.confidence * ~now.settled, count)
        open_counts = sizes - confirmed - labelled
        confidence = np.where(open_counts > 0, open_sums / np.maximum(open_counts, 1), 1.0)
        groups = [
            {
                "id": name,
                "status": "known" if now.known[number] else "novel",
                "named": now.is_named(number),
                "confirmed": int(confirmed[number]),
                "labelled": int(labelled[number]),
                "size": int(sizes[number]),
                "confidence": round(float(confidence[number]), 4),
                "unsure": int(doubted[number]),
                "suspicions": [
                    {"kind": found.kind, "text": found.text, "images": list(found.images)}
                    for found in suspicions.get(number, [])
                ],
                "aside": number == now.aside,
                "typical": self._typical_of(name, now.members(number)),
                "suggestion": _suggested(suggestions.get(number)),
            }
            for number, name in enumerate(now.groups)
        ]
        totals = self._totals(now, unsure)
        return {
            "run": work.title,
            "images": len(work),
            "version": now.version,
            "undo": now.undo,
            "redo": now.redo,
            "totals": totals,
            "line": _how_far(totals, len(work)),
            "groups": groups,
            "categories": [name for number, name in enumerate(now.groups) if now.is_named(number)],
            "ready": self.insight.ready,
        }

    def _totals(self, now: Snapshot, unsure: np.ndarray) -> dict[str, int]:
        named = sum(now.is_named(number) for number in range(len(now.groups)))
        return {
            "groups": len(now.groups) - (now.aside is not None),
            "named": named,
            "confirmed": int(now.confirmed.sum()),
            "labelled": int(now.labelled.sum()),
            "unsure": int(unsure.sum()),
            "aside": int(now.rejected.sum()),
        }

    def _unsure(self, now: Snapshot) -> np.ndarray:
        """[N] bool; images nobody settled and the model is not sure of."""
        found: np.ndarray = self.workspace.unsure & ~now.settled & ~now.rejected
        return found

    def _flags(self, now: Snapshot) -> np.ndarray:
        flags: np.ndarray = _UNSURE * self._unsure(now) + _CONFIRMED * now.confirmed + _LABELLED * now.labelled
        for found in self.insight.suspicions_now(now).values():
            for suspicion in found:
                flags[list(suspicion.images)] |= _SUSPICIOUS
        return flags

    def _typical_of(self, name: str, members: np.ndarray) -> list[int]:
        before = self._typical.get(name)
        if before is None or not np.array_equal(before[0], members):
            before = members, self.insight.typical(members, self.workspace.confidence)
            self._typical[name] = before
        return before[1]


def _suggested(found: Suggestion | None) -> Json | None:
    if found is None:
        return None
    return {"name": found.name, "source": found.source, "share": round(found.share, 3)}


def _how_far(totals: dict[str, int], images: int) -> str:
    """How far the collection is, in one line."""
    settled = totals["confirmed"] + totals["labelled"]
    open_groups = totals["groups"] - totals["named"]
    named = (
        "every group has a name" if not open_groups else f"{totals['named']} of {totals['groups']} groups have a name"
    )
    aside = f", {totals['aside']} set aside" if totals["aside"] else ""
    return f"{named}; {settled} of {counted(images, 'image')} settled, {totals['unsure']} unsure{aside}"
