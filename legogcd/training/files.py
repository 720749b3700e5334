"""What a training leaves behind, by name, and its metrics read back; nothing here needs torch."""

from pathlib import Path
from typing import Any

from legogcd.files import parse_json

METRICS, TIMING = "metrics.jsonl", "timing.jsonl"
MODEL, CHECKPOINT = "model.safetensors", "checkpoints/last.safetensors"


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """metrics.jsonl of a run, one entry per epoch; what follows a line that is none, as after a crash, is left out."""
    path = folder / METRICS
    entries = []
    for line in path.read_bytes().splitlines() if path.exists() else []:
        try:
            entry = parse_json(line)
        except ValueError:
            break
        if not isinstance(entry, dict):
            break
        entries.append(entry)
    return entries
