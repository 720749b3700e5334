"""A run folder while it grows: metrics and times by epoch, checkpoints, and going on after an interruption."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from legogcd.errors import UserError
from legogcd.files import write_text
from legogcd.run.folder import CHECKPOINT, CONFIG, METRICS, MODEL, TIMING, read_config, read_metrics, write_config
from legogcd.training.checkpoint import load_checkpoint, load_model, load_tensors, save_checkpoint
from legogcd.training.loop import Metrics

SECONDS_BETWEEN_CHECKPOINTS = 20.0


class Journal:
    """Appends an entry an epoch to metrics.jsonl, and its time, which differs between repeats, to timing.jsonl."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries: list[Metrics] = []
        self._began = self._saved = time.monotonic()

    def add(self, metrics: Metrics) -> None:
        with open(self.folder / METRICS, "a", encoding="utf-8", newline="\n") as file:
            file.write(_line(metrics))
        self.time("epoch", time.monotonic() - self._began, epoch=metrics["epoch"])
        self._began = time.monotonic()

    def time(self, what: str, seconds: float, **details: Any) -> None:
        with open(self.folder / TIMING, "a", encoding="utf-8", newline="\n") as file:
            file.write(_line({"what": what, **details, "seconds": round(seconds, 3)}))

    def save_if_due(self, tail: nn.Module, method: nn.Module, optimizer: torch.optim.Optimizer, epochs: int) -> None:
        """Write a checkpoint when enough time has passed that losing it would hurt."""
        if time.monotonic() - self._saved >= SECONDS_BETWEEN_CHECKPOINTS:
            save_checkpoint(self.folder / CHECKPOINT, tail, method, optimizer, epochs)
            self._saved = time.monotonic()

    def restore(self, tail: nn.Module, method: nn.Module, optimizer: torch.optim.Optimizer, epochs: int) -> int:
        """Load what an interrupted or finished run left; returns how many of ``epochs`` are behind it."""
        done = 0
        if (self.folder / MODEL).exists():
            load_model(tail, method, load_tensors(self.folder / MODEL)[0])
            done = epochs
        elif (self.folder / CHECKPOINT).exists():
            done = load_checkpoint(self.folder / CHECKPOINT, tail, method, optimizer)
        self.entries = read_metrics(self.folder)[:done]
        write_text(self.folder / METRICS, "".join(_line(entry) for entry in self.entries))
        self._began = time.monotonic()
        return done


def open_journal(folder: Path, config: Mapping[str, Any], resume: bool) -> Journal:
    """Begin a run folder, or go on with one that was begun with the same configuration."""
    if resume and (folder / CONFIG).exists():
        before, now = read_config(folder), json.loads(json.dumps(config))
        differing = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
        if differing:
            raise UserError(f"{folder} was begun with another {', '.join(differing)}; resume with the same settings")
    else:
        folder.mkdir(parents=True, exist_ok=True)
        write_config(folder, config)
    return Journal(folder)


def _line(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=False) + "\n"
