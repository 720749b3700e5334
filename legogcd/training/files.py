"""What a training leaves behind, by name, and its metrics read back; nothing here needs torch."""

import json
from pathlib import Path
from typing import Any

METRICS, TIMING = "metrics.jsonl", "timing.jsonl"
MODEL, CHECKPOINT = "model.safetensors", "checkpoints/last.safetensors"


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """metrics.jsonl of a run, one entry per epoch; a last line cut off by a crash is left out."""
    path = folder / METRICS
    entries = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            entries.append(json.loads(line))
        except ValueError:
            break
    return entries
