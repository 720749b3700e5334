"""What is computed of a run's images once and kept beside the kept views: features, map, neighbors, findings, votes.

Each piece is a few files, written whole, with their checksums in record.json; what is damaged is computed again.
"""

import hashlib
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from legogcd.files import cache_folder, parse_json, replacing, write_text
from legogcd.run.folder import EDITS, MODEL, PREDICTIONS
from legogcd.run.manifest import read_manifest

_FORMAT = 2
_RECORD = "record.json"
LIKENESS, BELIEF, NEIGHBORS, FINDINGS, MAP, VOTES = "likeness", "belief", "neighbors", "findings", "map", "votes"
PIECES = (LIKENESS, BELIEF, NEIGHBORS, FINDINGS, MAP, VOTES)
"""In the order in which they are computed."""


class Kept:
    """The folder in the cache for one run: another model or other predictions have another folder."""

    def __init__(self, run: Path, cache: Path | None = None, vocabulary: Path | None = None) -> None:
        digests = read_manifest(run)
        names = f" {_digest(vocabulary)}" if vocabulary is not None and vocabulary.is_file() else ""
        key = f"{_FORMAT} {digests.get(MODEL)} {digests.get(PREDICTIONS) or _digest(run / PREDICTIONS)}{names}"
        name = f"review-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
        self.folder = (cache or cache_folder()) / name

    def has(self, piece: str) -> bool:
        """Whether a piece was written; whether it is whole is seen when it is read."""
        return piece in self._record()

    def save(self, piece: str, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any] | None = None) -> None:
        """Write a piece: arrays by name, and what else is to be known of them."""
        self.folder.mkdir(parents=True, exist_ok=True)
        checks: dict[str, int] = {}
        for name, array in arrays.items():
            file = f"{piece}-{name}.npy"
            with replacing(self.folder / file) as temporary, open(temporary, "wb") as written:
                np.save(written, array, allow_pickle=False)
            checks[file] = zlib.crc32((self.folder / file).read_bytes())
        record = self._record() | {piece: {"files": checks, "facts": dict(facts or {})}}
        write_text(self.folder / _RECORD, json.dumps(record, sort_keys=True) + "\n")

    def facts(self, piece: str) -> dict[str, Any]:
        """What else is known of a piece; nothing where it is not there."""
        entry = self._record().get(piece)
        found = entry.get("facts") if isinstance(entry, dict) else None
        return found if isinstance(found, dict) else {}

    def load(self, piece: str) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        """The arrays and facts of a piece; None where it is not there, or not whole."""
        entry = self._record().get(piece)
        if entry is None:
            return None
        arrays: dict[str, np.ndarray] = {}
        try:
            for file, check in entry["files"].items():
                path = self.folder / Path(file).name
                if zlib.crc32(path.read_bytes()) != check:
                    return None
                arrays[file.removeprefix(f"{piece}-").removesuffix(".npy")] = np.load(path, allow_pickle=False)
            return arrays, dict(entry["facts"])
        except (OSError, ValueError, TypeError, AttributeError, KeyError):
            return None

    def _record(self) -> dict[str, Any]:
        try:
            found = parse_json((self.folder / _RECORD).read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


def digest_of_edits(run: Path) -> str:
    """The same as long as nothing was edited."""
    path = run / EDITS
    return _digest(path)[:16] if path.is_file() else ""


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
