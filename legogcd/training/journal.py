"""A training while it goes on: metrics and times by epoch, checkpoints, and going on after an interruption."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from legogcd.files import write_text
from legogcd.training.checkpoint import load_checkpoint, load_model, load_tensors, save_checkpoint
from legogcd.training.files import CHECKPOINT, METRICS, MODEL, TIMING, read_metrics
from legogcd.training.loop import Metrics

SECONDS_BETWEEN_CHECKPOINTS = 20.0


class Journal:
    """Appends one entry per epoch to metrics.jsonl, and its time, which differs between repeats, to timing.jsonl."""

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


def _line(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=False) + "\n"
