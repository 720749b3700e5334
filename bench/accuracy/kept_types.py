"""What trunk, tail and kept tokens lose of a model's features: ``python -m bench.accuracy.kept_types FOLDER --data …``.

On real photos, a model of the hub's format as transformers computes it (its CLS token) against our tail over tokens as
they are computed, and as each type of ``--kept-dtype`` keeps them: the largest 1 − cosine of a feature, how many of the
ten nearest images stay, and the bytes of one view.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize as at_length_1
from transformers import AutoModel

from bench.accuracy.study import DataSet
from legogcd.vision import Backbone, Encoder, ViewRequest, load_backbone
from legogcd.vision.tail import State
from legogcd.vision.views.draw import evaluation_view, load_resized, normalize
from legogcd.vision.views.tensor_format import KEPT_DTYPES, stored_as

NEAREST, BATCH = 10, 64


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.accuracy.kept_types", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("folder", type=Path, help="a model folder as the hub has it")
    parser.add_argument("--data", type=DataSet.read, required=True, metavar="DIR:KNOWN:PIXELS")
    parser.add_argument("--images", type=int, default=500, help="so many, from all of the set")
    options = parser.parse_args()
    torch.set_grad_enabled(False)
    for line in table(options.folder, options.data, options.images):
        print(line, flush=True)


def table(folder: Path, data: DataSet, count: int) -> Iterator[str]:
    """A row per way to compute a feature, each held against the plain model."""
    backbone = load_backbone(folder, data.image_size)
    plain, states = both(folder, backbone, data, count)
    yield "| tokens | 1 − cosine, largest | of the ten nearest | bytes of a view |"
    yield "|---|--:|--:|--:|"
    yield f"| as computed | {compared(features(backbone, states), plain)} | |"
    encoder = Encoder(backbone, torch.device("cpu"), "fp32")
    for dtype in KEPT_DTYPES:
        kept = [
            tuple(
                stored_as(part, dtype if half else "fp32").float()
                for part, half in zip(state, backbone.half, strict=True)
            )
            for state in states
        ]
        size = ViewRequest(encoder, data.open()[0].images, views=2, dtype=dtype).bytes_per_view
        yield f"| {dtype} | {compared(features(backbone, kept), plain)} | {size:,} |"


def both(folder: Path, backbone: Backbone, data: DataSet, count: int) -> tuple[Tensor, list[State]]:
    """Features [N, D] of the plain model and the trunk's states by batches, of the same views."""
    images = data.open()[0].images
    rule = Encoder(backbone, torch.device("cpu"), "fp32").rule
    model = AutoModel.from_pretrained(folder).eval()
    plain, states = [], []
    for rows in np.array_split(np.linspace(0, len(images) - 1, count).astype(int), max(count // BATCH, 1)):
        centers = [evaluation_view(load_resized(images.item(int(row)), rule), rule) for row in rows]
        batch = normalize(np.stack(centers), backbone.mean, backbone.std)
        plain.append(model(batch).last_hidden_state[:, 0])
        states.append(backbone.trunk(batch))
    return torch.cat(plain), states


def features(backbone: Backbone, states: list[State]) -> Tensor:
    return torch.cat([backbone.tail(state) for state in states])


def compared(found: Tensor, plain: Tensor) -> str:
    found, plain = at_length_1(found.double(), dim=1), at_length_1(plain.double(), dim=1)
    lost = float((1 - (found * plain).sum(1)).max())
    return f"{lost:.1e} | {100 * kept_neighbors(found, plain):.1f} %"


def kept_neighbors(found: Tensor, plain: Tensor) -> float:
    """Which share of each image's nearest ones is the same in both."""
    ours, theirs = ((some @ some.T).fill_diagonal_(-2).topk(NEAREST).indices for some in (found, plain))
    return float((ours[:, :, None] == theirs[:, None, :]).any(2).double().mean())


if __name__ == "__main__":
    main()
