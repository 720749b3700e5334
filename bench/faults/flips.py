"""One flipped bit anywhere in a finished run or in its kept views: found, mended by --resume, or without effect."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.faults.trial import Trial, what_differs
from legogcd.display import Quiet
from legogcd.errors import UserError

SMALL = 8192  # bytes: of files up to this every byte is flipped
UNREAD = ("timing.jsonl", "curves.png", "groups.png", "report.html")  # no command reads them; --resume draws them anew


@dataclass
class Flips:
    """What came of flipped bits, by file."""

    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    mended: dict[str, bool] = field(default_factory=dict)

    def rows(self) -> list[tuple[str, int, str]]:
        return [
            (
                f"a flipped bit in `{name}`",
                counts.total(),
                ", ".join(f"{count:,} {what}" for what, count in counts.most_common())
                + (
                    "" if name not in self.mended else "; mended by `--resume`" if self.mended[name] else "; NOT MENDED"
                ),
            )
            for name, counts in self.outcomes.items()
        ]

    def as_json(self) -> dict[str, Any]:
        return {"outcomes": {name: dict(counts) for name, counts in self.outcomes.items()}, "mended": self.mended}


def flip_bits(trial: Trial, count: int, seed: int = 0, mend: bool = True) -> Flips:
    """``count`` random places of large files, every byte of small ones."""
    whole, found = trial.whole(), Flips()
    before = _used(trial)
    for path in [*_files(trial.run), *_files(trial.cache)]:
        name = path.relative_to(trial.home).as_posix()
        content, outcomes = path.read_bytes(), Counter[str]()
        for place, bit in _places(len(content), count, random.Random(f"{name} {seed}")):
            path.write_bytes(flipped(content, place, bit))
            outcomes["no reader" if path.name in UNREAD else _outcome(trial, path, before)] += 1
        path.write_bytes(content)
        found.outcomes[_kind(name)] = found.outcomes.get(_kind(name), Counter()) + outcomes
        if mend and path.name != "timing.jsonl" and _kind(name) not in found.mended:
            path.write_bytes(flipped(content, len(content) // 2, 3))
            done = trial.discover("--resume")
            found.mended[_kind(name)] = not done.code and not what_differs(trial.left(), whole)
            if not found.mended[_kind(name)]:
                found.outcomes[_kind(name)][f"resumed: {done.complaint}"] += 1
                path.write_bytes(content)
    return found


def flipped(content: bytes, place: int, bit: int) -> bytes:
    changed = bytearray(content)
    changed[place] ^= 1 << bit
    return bytes(changed)


def _outcome(trial: Trial, path: Path, before: object) -> str:
    """Whether `legogcd check` or a reader finds it; where none does, whether what is read is the same."""
    from legogcd.run.checking import check_folder

    try:
        if trial.run in path.parents:
            if path.suffix == ".safetensors":  # what check does for the others too, without reading the large model
                return _of_tensors(trial.run, path)
            damaged = _damaged(trial.run)
        else:
            damaged = check_folder(path.parent, Quiet())[1]
        if damaged:
            return "found"
        used = _used(trial)
    except UserError:
        return "found"
    return "without effect" if used == before else "SILENT"


def _of_tensors(run: Path, path: Path) -> str:
    from legogcd.run.manifest import check_sealed
    from legogcd.training.checkpoint import load_tensors

    check_sealed(run, path.name)
    load_tensors(path)
    return "SILENT"


def _damaged(run: Path) -> list[str]:
    """As `legogcd check` finds them, but for the large model, which is whole here."""
    from legogcd.run.manifest import check_sealed, read_manifest

    names = read_manifest(run)
    return [name for name in names if name != "model.safetensors" and not _is_whole(run, name, check_sealed)]


def _is_whole(run: Path, name: str, check: Any) -> bool:
    try:
        check(run, name)
    except (UserError, FileNotFoundError):
        return False
    return True


def _used(trial: Trial) -> object:
    """What the files of a run and its kept views say to whoever uses them."""
    import numpy as np
    import torch

    from legogcd.run.categories import current
    from legogcd.run.config import read_config
    from legogcd.run.folder import read_metrics
    from legogcd.run.model import read_calibration
    from legogcd.vision.views.kept import KeptViews

    run = trial.run
    kept = KeptViews(next(trial.cache.glob("views-*")))
    state = kept.evaluation(torch.arange(kept.n_images))
    views = [
        np.asarray(part if isinstance(part, torch.Tensor) else part.dense(torch.float32)).tobytes() for part in state
    ]
    return read_config(run), current(run).to_csv(), str(read_metrics(run)), read_calibration(run), views


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _places(size: int, count: int, chooser: random.Random) -> Iterator[tuple[int, int]]:
    places = range(size) if size <= SMALL else sorted(chooser.sample(range(size), min(size, count)))
    return ((place, chooser.randrange(8)) for place in places)


def _kind(name: str) -> str:
    """Shards and their records count together."""
    path = Path(name)
    return (
        name
        if path.parts[0] == "run"
        else f"cache/views-*/{path.name if path.stem == 'manifest' else '*' + path.suffix}"
    )
