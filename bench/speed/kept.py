"""Folders of kept ViT-B/16 views made of noise, and a learner over them, for the benchmarks."""

import json
from dataclasses import asdict
from pathlib import Path

import torch

from legogcd.methods import build_method
from legogcd.run.runtime import open_runtime
from legogcd.training.loop import LabelledViews, Learner
from legogcd.vision.backbones import load_backbone
from legogcd.vision.views.kept import KeptTensor
from legogcd.vision.views.source import ViewSource

TOKENS, DIM, CLASSES, KNOWN = 197, 768, 200, 100
_DIFFERENT = 64  # views of noise, written over and over: other pages, the same work


def write_noise(folder: Path, n_images: int, n_views: int, dtype: str, sparse: bool = False) -> Path:
    """A kept folder; a sparse one is all zeros and takes no disk."""
    folder.mkdir(parents=True)
    tensors = [KeptTensor("cls", (DIM,), "fp32"), KeptTensor("tokens", (TOKENS, DIM), dtype)]
    total = n_images * (1 + n_views)
    for tensor in tensors:
        noise = torch.randn(_DIFFERENT, *tensor.shape)
        content = tensor.packed(torch.nn.functional.layer_norm(noise, (DIM,))).tobytes()
        with open(folder / f"{tensor.name}.bin", "wb") as file:
            for _ in range(0 if sparse else -(-total // _DIFFERENT)):
                file.write(content)
            file.truncate(total * tensor.bytes_per_view)
    described = {"n_images": n_images, "views": n_views, "unreadable": {}}
    (folder / "manifest.json").write_text(json.dumps({**described, "tensors": [asdict(tensor) for tensor in tensors]}))
    return folder


def learner_over(
    source: ViewSource, weights: Path, rows: torch.Tensor, precision: str = "fp32"
) -> tuple[Learner, LabelledViews]:
    """LegoGCD on a ViT-B/16 with K = 200 and 100 known classes, half of the images labelled."""
    torch.manual_seed(0)
    labels = torch.randint(KNOWN, (len(rows),))
    labels[::2] = -1
    tail = load_backbone(str(weights)).tail
    method = build_method("legogcd", DIM, CLASSES, KNOWN)
    return Learner(tail, method, open_runtime("cpu", precision)), LabelledViews(source, rows, labels)
