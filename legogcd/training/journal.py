"""A training while it goes on: metrics and times by epoch, checkpoints, and going on after an interruption."""

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from legogcd.errors import DamagedFileError
from legogcd.files import write_text
from legogcd.phases import Phases
from legogcd.training.checkpoint import (
    checkpoint_tensors,
    load_checkpoint,
    load_model,
    load_tensors,
    save_tensors,
)
from legogcd.training.files import CHECKPOINT, METRICS, MODEL, TIMING, read_metrics
from legogcd.training.loop import Metrics

SECONDS_BETWEEN_CHECKPOINTS = 20.0


class Journal:
    """Appends one entry per epoch to metrics.jsonl, and its time, which differs between repeats, to timing.jsonl."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries: list[Metrics] = []
        self._began = self._saved_at = time.monotonic()
        self._latest: tuple[dict[str, Tensor], int] | None = None  # a checkpoint to be, and the epochs behind it
        self.saved = 0  # epochs behind the one on disk

    def add(self, metrics: Metrics) -> None:
        """Note an epoch."""
        self.entries.append(metrics)
        with open(self.folder / METRICS, "a", encoding="utf-8", newline="\n") as file:
            file.write(_line(metrics))
        self.time("epoch", time.monotonic() - self._began, epoch=metrics["epoch"])
        self._began = time.monotonic()

    def time(self, what: str, seconds: float, **details: Any) -> None:
        with open(self.folder / TIMING, "a", encoding="utf-8", newline="\n") as file:
            file.write(_line({"what": what, **details, "seconds": round(seconds, 3)}))

    def time_phases(self, phases: Phases) -> None:
        """What each phase of a command took, and its share of all of them."""
        whole = sum(phases.seconds.values()) or 1.0
        for name, seconds in phases.seconds.items():
            self.time("phase", seconds, phase=name, share=round(seconds / whole, 4))

    def remember(self, tail: nn.Module, method: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Hold what was learned up to the last entry, and save it when enough time has passed that losing it hurts."""
        self._latest = checkpoint_tensors(tail, method, optimizer), len(self.entries)
        if time.monotonic() - self._saved_at >= SECONDS_BETWEEN_CHECKPOINTS:
            self.save_latest()

    def save_latest(self) -> None:
        """Write the checkpoint of the last epoch that was remembered; the entries it counts on are on disk before."""
        if self._latest is None or self._latest[1] == self.saved:
            return
        tensors, epochs = self._latest
        with open(self.folder / METRICS, "rb+") as file:
            os.fsync(file.fileno())
        save_tensors(self.folder / CHECKPOINT, tensors, **log_record(self.entries[:epochs]))
        self.saved, self._saved_at = epochs, time.monotonic()

    def restore(
        self,
        tail: nn.Module,
        method: nn.Module,
        optimizer: torch.optim.Optimizer,
        epochs: int,
        warn: Callable[[str], None],
    ) -> int:
        """Load what an interrupted or finished run left; returns how many of ``epochs`` are behind it.

        What is damaged is said and not used: training then starts again, and ends with the same bytes.
        """
        try:
            self.entries = self._restore(tail, method, optimizer, epochs)
        except DamagedFileError as damage:
            warn(f"{damage}; training starts again")
            self.entries = []
        self.saved = len(self.entries)
        write_text(self.folder / METRICS, "".join(_line(entry) for entry in self.entries))
        self._began = self._saved_at = time.monotonic()
        return self.saved

    def _restore(
        self, tail: nn.Module, method: nn.Module, optimizer: torch.optim.Optimizer, epochs: int
    ) -> list[Metrics]:
        model, checkpoint = self.folder / MODEL, self.folder / CHECKPOINT
        if model.exists():
            tensors, about = load_tensors(model)
        elif checkpoint.exists():
            tensors, about = load_tensors(checkpoint)
        else:
            return []
        entries = read_metrics(self.folder)[: about.get("epochs", 0)]
        if about | log_record(entries) != about:
            raise DamagedFileError(f"{self.folder / METRICS} does not hold what was written into it")
        if not epochs:
            return []  # nothing was trained: what there is to find is found again
        if model.exists():
            load_model(tail, method, tensors)
        else:
            load_checkpoint(tail, method, optimizer, tensors)
        return entries


def log_record(entries: Sequence[Metrics]) -> dict[str, Any]:
    """What saved tensors say of the log they belong to: how many epochs it has, and a digest of them."""
    log = "".join(_line(entry) for entry in entries)
    return {"epochs": len(entries), "metrics": hashlib.sha256(log.encode()).hexdigest()}


def _line(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=False) + "\n"
