"""The run that everything is tried on: ninety handwritten digits, the default backbone, a checkpoint every epoch."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from bench.faults.command import Done, bytes_below, run

EPOCHS = 4
UNLIKE = ("timing.jsonl",)  # what differs between repeats


@dataclass(frozen=True)
class Trial:
    """A collection, and the folders ``run`` and ``cache`` of the command that sorts it."""

    home: Path
    epochs: int = EPOCHS
    disk: str = ""  # which of the two is in the folder ``disk``

    @property
    def run(self) -> Path:
        return self._folder("run")

    @property
    def cache(self) -> Path:
        return self._folder("cache")

    def _folder(self, name: str) -> Path:
        return self.home / "disk" / name if self.disk == name else self.home / name

    @property
    def pictures(self) -> Path:
        return self.home / "pictures"

    def words(self, *more: str) -> list[str]:
        known = ",".join(sorted(path.name for path in self.pictures.iterdir())[:5])
        words = ["discover", str(self.pictures), "--labels", "folders", "--known", known, "--out", str(self.run)]
        words += ["--cache", str(self.cache), "--image-size", "32", "--views", "2", "--epochs", str(self.epochs)]
        words += [
            "--set",
            "batch_size=64",
            "--set",
            "projector_hidden=32",
            "--set",
            "projector_out=16",
            "--device",
            "cpu",
            "--precision",
            "fp32",
            "--threads",
            "1",
        ]
        return [*words, "--disk-budget", "1GB", *more]

    def discover(self, *more: str, before: Callable[[], None] | None = None) -> Done:
        return run(self.words(*more), before or checkpoint_every_epoch)

    def clear(self) -> None:
        """No run and no kept views."""
        for folder in (self.run, self.cache):
            shutil.rmtree(folder, ignore_errors=True)

    def put_cache(self, left: dict[str, bytes]) -> None:
        """The kept views of a run that ended."""
        for name, content in left.items():
            if name.startswith("cache/"):
                (self.home / name).parent.mkdir(parents=True, exist_ok=True)
                (self.home / name).write_bytes(content)

    def left(self) -> dict[str, bytes]:
        """Everything the command left, in the run folder and in the cache."""
        return {f"{name}/{path}": content for name in ("run", "cache") for path, content in self._left(name).items()}

    def _left(self, name: str) -> dict[str, bytes]:
        folder = self._folder(name)
        return bytes_below(folder, UNLIKE) if folder.exists() else {}

    def whole(self) -> dict[str, bytes]:
        """What a run that nothing happened to leaves."""
        self.clear()
        done = self.discover()
        if done.code:
            raise RuntimeError(done.err)
        return self.left()


def make_trial(home: Path, per_class: int = 9, epochs: int = EPOCHS) -> Trial:
    """Digits of every class as pictures below ``home``."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    for number in range(10):
        folder = home / "pictures" / f"digit-{number}"
        folder.mkdir(parents=True)
        for place, pixels in enumerate(digits.images[digits.target == number][:per_class]):
            grey = np.repeat(np.repeat(pixels * 15, 4, axis=0), 4, axis=1).astype(np.uint8)
            Image.fromarray(grey).save(folder / f"{place:02d}.png")
            os.utime(folder / f"{place:02d}.png", (1.7e9, 1.7e9))
    return Trial(home, epochs)


def checkpoint_every_epoch() -> None:
    """In the command's process: nothing waits for twenty seconds, and views lie in several shards."""
    from legogcd.training import journal
    from legogcd.vision.views import shards

    journal.SECONDS_BETWEEN_CHECKPOINTS = 0
    shards.SHARD_IMAGES = 32


def what_differs(found: dict[str, bytes], whole: dict[str, bytes]) -> list[str]:
    """The files that are not the same in both."""
    return sorted(name for name in {*found, *whole} if found.get(name) != whole.get(name))
