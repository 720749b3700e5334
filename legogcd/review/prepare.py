"""Compute what the page wants to know of a run's images, piece by piece, into the cache.

``python -m legogcd.review.prepare LOCATION`` is a process of its own, so that the server stays small and quick; the
lines it prints say what it is doing.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from legogcd.clustering import directions
from legogcd.display import Quiet
from legogcd.errors import UserError
from legogcd.locks import locked
from legogcd.report.page.assemble import PageImages
from legogcd.report.page.findings import NEAR_DUPLICATES
from legogcd.report.page.layout_map import GRID, map_points
from legogcd.report.page.suspicions import suspicions
from legogcd.review.cells import nearest_neighbors
from legogcd.review.kept import BELIEF, FINDINGS, LIKENESS, MAP, NEIGHBORS, PIECES, VOTES, Kept, digest_of_edits
from legogcd.review.preparing import read_location
from legogcd.review.votes import namer_for, votes_of
from legogcd.review.workspace import Location
from legogcd.run.config import RunConfig, read_config
from legogcd.run.discovery import read_predictions
from legogcd.run.model import Model, load_run
from legogcd.run.run_features import RunFeatures, run_features
from legogcd.run.trust import FilesBelow, trusted_root
from legogcd.vision.backbones import load_backbone
from legogcd.wording import printable

REDUCED = 128  # numbers that are kept of a feature
_NEIGHBORS = 20
Say = Callable[[str], None]
Arrays = dict[str, np.ndarray]


def prepare(location: Location, say: Say = lambda line: None) -> None:
    """Compute the pieces that are missing; one process at a time."""
    kept = Kept(location.run, location.cache, location.vocabulary)
    kept.folder.mkdir(parents=True, exist_ok=True)
    with locked(kept.folder / ".lock"):
        missing = [piece for piece in PIECES if kept.load(piece) is None]
        if not missing:
            if kept.facts(FINDINGS).get("edits") != digest_of_edits(location.run):
                say(_SAYING[FINDINGS])
                search_again(location, kept)
            return
        say("loading the run's model")
        computed = _Computed(location, say)
        for piece in missing:
            say(_SAYING[piece])
            arrays, facts = _COMPUTING[piece](computed)
            kept.save(piece, arrays, facts)


class _Computed:
    """What pieces are made of, computed when it is first needed."""

    def __init__(self, location: Location, say: Say) -> None:
        self.location, self.run = location, location.run
        self.names: list[str] = read_predictions(self.run)["path"].tolist()
        config = read_config(self.run)
        self.files = FilesBelow(trusted_root(self.run, config, location.images), tuple(self.names))
        self.display = _Lines(say)

    @cached_property
    def loaded(self) -> tuple[Model, RunConfig]:
        return load_run(self.run, self.location.backbone)

    @cached_property
    def found(self) -> RunFeatures:
        model, config = self.loaded
        return run_features(model, config, self.files, self.location.cache, self.display)

    @cached_property
    def there(self) -> np.ndarray:
        """[N] bool; images that could be read."""
        return np.array([name not in self.found.unreadable for name in self.names])

    @cached_property
    def units(self) -> np.ndarray:
        """Features at length 1 [n, D] of the images that are there."""
        return np.asarray(directions(self.found.features.astype(np.float32)), np.float32)

    @cached_property
    def reduced(self) -> np.ndarray:
        return reduce_features(self.units)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Values of the images that are there as values of all; the others get nothing but zeros."""
        whole = np.zeros((len(self.names), *values.shape[1:]), values.dtype)
        whole[self.there] = values
        return whole

    @cached_property
    def probabilities(self) -> np.ndarray:
        return self.loaded[0].classify_array(self.found.features)


def reduce_features(units: np.ndarray) -> np.ndarray:
    """Features of length 1 [n, D] in at most 128 numbers, those that keep their dot products best."""
    if units.shape[1] <= REDUCED:
        return units.astype(np.float32)
    products = units.T.astype(np.float64) @ units.astype(np.float64) if len(units) < 20_000 else _products(units)
    strength, axes = np.linalg.eigh(products)
    return np.ascontiguousarray(units @ axes[:, np.argsort(-strength)[:REDUCED]].astype(np.float32))


def _products(units: np.ndarray) -> np.ndarray:
    sums = np.zeros((units.shape[1], units.shape[1]))
    for start in range(0, len(units), 8192):
        part = units[start : start + 8192].astype(np.float64)
        sums += part.T @ part
    return sums


def _likeness(computed: _Computed) -> tuple[Arrays, dict[str, Any]]:
    return {"reduced": computed.spread(computed.reduced)}, {"unreadable": dict(computed.found.unreadable)}


def _belief(computed: _Computed) -> tuple[Arrays, dict[str, Any]]:
    return {"belief": computed.spread(computed.probabilities.astype(np.float16))}, {}


def _neighbors(computed: _Computed) -> tuple[Arrays, dict[str, Any]]:
    rows = np.flatnonzero(computed.there)
    near = nearest_neighbors(computed.reduced, _NEIGHBORS)
    whole = np.repeat(np.arange(len(computed.names), dtype=np.int32)[:, None], near.shape[1], axis=1)
    whole[rows] = rows[near]
    return {"rows": whole, "alike": computed.spread(_cosines(computed.units, near))}, {}


def _cosines(units: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Cosines [n, k] of features of length 1 with those of their neighbors; what points away counts as 0."""
    found = np.zeros(near.shape, np.float32)
    for start in range(0, len(units), 512):
        part = slice(start, start + 512)
        found[part] = np.einsum("nd,nkd->nk", units[part], units[near[part]])
    return np.clip(found, 0, 1)


def _findings(computed: _Computed) -> tuple[Arrays, dict[str, Any]]:
    shown = PageImages(computed.files, computed.found.features, computed.probabilities, computed.found.unreadable)
    edits = digest_of_edits(computed.run)
    return {}, {"found": suspicions(computed.run, shown), "edits": edits}


def search_again(location: Location, kept: Kept) -> None:
    """What is suspicious after later edits, told from what is kept: no model is loaded, no image is read."""
    pieces = [kept.load(piece) for piece in (LIKENESS, BELIEF, FINDINGS)]
    (likeness, facts), (belief, _), (_, before) = (piece or ({}, {}) for piece in pieces)
    computed, edits = _Computed(location, lambda line: None), digest_of_edits(location.run)
    there = np.array([name not in facts["unreadable"] for name in computed.names])
    shown = PageImages(
        computed.files, likeness["reduced"][there], belief["belief"][there].astype(np.float32), facts["unreadable"]
    )
    same = [tuple(entry["images"]) for entry in before["found"] if entry["kind"] == NEAR_DUPLICATES.key]
    kept.save(FINDINGS, {}, {"found": suspicions(location.run, shown, same), "edits": edits})


def _map(computed: _Computed) -> tuple[Arrays, dict[str, Any]]:
    points = (map_points(computed.units) / (GRID / 2) - 1).astype(np.float32)
    return {"points": computed.spread(points)}, {}


def _votes(computed: _Computed) -> tuple[Arrays, dict[str, Any]]:
    model, config = computed.loaded
    options = config.options
    backbone = computed.location.backbone or options.protocol.backbone
    namer = namer_for(backbone, computed.location.vocabulary)
    if namer is None:
        return {}, {"vocabulary": [], "source": ""}
    untrained = load_backbone(backbone, options.image_size, options.protocol.train_blocks).to(model.runtime.device)
    seen = run_features(replace(model, backbone=untrained), config, computed.files, computed.location.cache)
    classes, weights = votes_of(namer, seen.features)
    arrays = {"classes": computed.spread(classes), "weights": computed.spread(weights)}
    return arrays, {"vocabulary": list(namer.vocabulary), "source": namer.source}


_COMPUTING: dict[str, Callable[[_Computed], tuple[Arrays, dict[str, Any]]]] = {
    LIKENESS: _likeness,
    BELIEF: _belief,
    NEIGHBORS: _neighbors,
    FINDINGS: _findings,
    MAP: _map,
    VOTES: _votes,
}
_SAYING = {
    LIKENESS: "looking at the images again",
    BELIEF: "asking the model how sure it is",
    NEIGHBORS: "finding out which images look alike",
    FINDINGS: "looking for what is suspicious",
    MAP: "drawing the map",
    VOTES: "looking for names to suggest",
}


class _Lines(Quiet):
    """What a run would show on a screen, as lines."""

    def __init__(self, say: Say) -> None:
        self._say = say

    def note(self, text: str) -> None:
        self._say(text)

    def warn(self, text: str) -> None:
        self._say(text)


def main() -> None:
    torch.set_num_threads(max(1, torch.get_num_threads() - 1))  # the server wants some of the machine too
    try:
        prepare(read_location(sys.argv[1]), lambda line: print(printable(line), flush=True))
    except UserError as error:
        print(printable(" ".join(str(error).split())), file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
