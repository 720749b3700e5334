"""Folders of kept views made of noise, and a learner over them, for the benchmarks."""

from collections.abc import Sequence
from pathlib import Path

import torch

from legogcd.methods import build_method
from legogcd.run.runtime import open_runtime
from legogcd.training.loop import LabelledViews, Learner
from legogcd.vision.backbones import load_backbone
from legogcd.vision.views.sealed import MANIFEST, write_sealed
from legogcd.vision.views.shards import SHARD_BYTES, Layout, writing
from legogcd.vision.views.source import ViewSource
from legogcd.vision.views.tensor_format import StoredTensor

TOKENS, DIM, CLASSES, KNOWN = 197, 768, 200, 100
VIT = ("cls", (DIM,)), ("tokens", (TOKENS, DIM))  # what is kept of a view: the small one in float32
EFFICIENTNET = (("map", (7, 7, 320)),)
Kept = tuple[tuple[str, tuple[int, ...]], ...]
_DIFFERENT = 64  # views of noise, written over and over: other pages, the same work


def write_noise(folder: Path, n_images: int, n_views: int, dtype: str, sparse: bool = False, kept: Kept = VIT) -> Path:
    """A folder of kept views; a sparse one is all zeros and takes no disk."""
    folder.mkdir(parents=True)
    tensors = tuple(StoredTensor(name, shape, "fp32" if len(shape) == 1 else dtype) for name, shape in kept)
    held = 1 + n_views
    shard_images = SHARD_BYTES // (held * sum(tensor.bytes_per_view for tensor in tensors))
    layout = Layout(tensors, held, n_images, shard_images)
    views = _DIFFERENT // held * held
    state = tuple(
        torch.nn.functional.layer_norm(torch.randn(views, *tensor.shape), tensor.shape[-1:]) for tensor in tensors
    )
    for shard in layout.shards():
        with writing(folder, layout, shard) as writer:
            for rows in batched([] if sparse else shard.rows, views // held):
                writer.add(rows, tuple(part[: len(rows) * held] for part in state))
    write_sealed(folder / MANIFEST, layout.described())
    return folder


def batched(rows: Sequence[int], size: int) -> list[Sequence[int]]:
    return [rows[begin : begin + size] for begin in range(0, len(rows), size)]


def learner_over(
    source: ViewSource, backbone: Path | str, rows: torch.Tensor, precision: str = "fp32", name: str = "legogcd"
) -> tuple[Learner, LabelledViews]:
    """A method on a backbone with K = 200 and 100 known classes, half of the images labelled."""
    torch.manual_seed(0)
    labels = torch.randint(KNOWN, (len(rows),))
    labels[::2] = -1
    loaded = load_backbone(str(backbone))
    method = build_method(name, loaded.dim, CLASSES, KNOWN)
    return Learner(loaded.tail, method, open_runtime("cpu", precision)), LabelledViews(source, rows, labels)
