"""A training step over kept ViT-B/16 tokens against the published recipe's step, in one run: ``python -m bench.tail``.

Ours:  gather 2 × 128 views' tokens (bf16, memory-mapped file), tail, heads, losses, backward, SGD update.
Plain: the whole ViT-B/16 in float32 on 224 × 224 pixels, autograd through every token of the last block, the same
heads, losses and optimizer. Its cost is linear in the views, so it is timed on fewer of them (``--plain-views``).
Weights are random (built offline); both start from the same ones.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import ViTConfig, ViTModel

from legogcd.methods import Method, ParametricRecipe, build_method
from legogcd.training.optimizer import build_optimizer
from legogcd.training.runtime import LIMIT, open_runtime, survives_bf16
from legogcd.vision.backbones import Backbone, load_backbone
from legogcd.vision.backbones.hub import quiet

IMAGES, KEPT_VIEWS, TOKENS, DIM, CLASSES, KNOWN = 128, 1024, 197, 768, 200, 100
BELOW_AMX = "AVX512_CORE_BF16"
Step = Callable[[], None]


def main() -> None:
    options = read_options()
    precision, note = choose_precision(options.precision)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder, quiet():
        ViTModel(ViTConfig(), add_pooling_layer=False).save_pretrained(folder)
        plain = ViTModel.from_pretrained(folder, dtype=torch.float32, add_pooling_layer=False)
        backbone = load_backbone(folder)
        difference = agreement(backbone, plain)
        ours_step = kept_step(backbone, Path(folder), precision)
        plain_step = published_step(plain, options.plain_views)
        rates = measure(ours_step, plain_step, options)
    report(rates, options, precision, note, difference)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.tail", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--precision", choices=["auto", "fp32", "bf16"], default="auto", help="of our products")
    parser.add_argument("--repeats", type=int, default=3, help="alternations of ours and plain")
    parser.add_argument("--steps", type=int, default=20, help="our steps in one repeat")
    parser.add_argument("--plain-views", type=int, default=64, help="views in a plain step, even; the recipe has 256")
    return parser.parse_args()


def choose_precision(asked: str) -> tuple[str, str]:
    """What a run would choose, or what is asked for; with a note where the CPU promises instructions it lacks."""
    precision = open_runtime("cpu").precision if asked == "auto" else asked
    if precision == "fp32" or survives_bf16():
        return precision, ""
    if not survives_bf16(BELOW_AMX):
        sys.exit("bf16 products do not work on this CPU")
    os.environ[LIMIT] = BELOW_AMX  # oneDNN reads it at its first product
    return precision, "AMX advertised but unusable: oneDNN held below it"


def agreement(backbone: Backbone, plain: nn.Module) -> float:
    """The largest difference of a feature between trunk and tail and the whole model, on four random images."""
    images = torch.randn(4, 3, 224, 224)
    with torch.no_grad():
        return float((backbone(images) - plain(images).last_hidden_state[:, 0]).abs().max())


def kept_step(backbone: Backbone, folder: Path, precision: str) -> Step:
    """Our step: everything a run does between two batches."""
    cls = torch.randn(KEPT_VIEWS, DIM)
    tokens = _kept_tokens(folder / "tokens.bin")
    tail, (method, labels) = backbone.tail.train(), heads(IMAGES)
    optimizer = build_optimizer(tail, method, ParametricRecipe())

    def step() -> None:
        rows = torch.randint(KEPT_VIEWS, (2 * IMAGES,))
        state = cls.index_select(0, rows), tokens.index_select(0, rows)
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            learn(tail(state), method, labels, optimizer)

    return step


def _kept_tokens(path: Path) -> Tensor:
    """Normalised tokens in bf16, mapped from a file as the cache maps them: [KEPT_VIEWS, TOKENS, DIM]."""
    file = np.memmap(path, np.uint16, mode="w+", shape=(KEPT_VIEWS, TOKENS, DIM))
    tokens = torch.from_numpy(file).view(torch.bfloat16)
    for part in tokens.split(64):
        part.copy_(nn.functional.layer_norm(torch.randn(part.shape), (DIM,)))
    return tokens


def published_step(model: Any, views: int) -> Step:
    """The published recipe's step: pixels through the whole backbone, its last block trained."""
    model.train().requires_grad_(False)
    images, (method, labels) = torch.randn(views, 3, 224, 224), heads(views // 2)
    optimizer = build_optimizer(model.layers[-1].requires_grad_(True), method, ParametricRecipe())

    def step() -> None:
        learn(model(images).last_hidden_state[:, 0], method, labels, optimizer)

    return step


def heads(images: int) -> tuple[Method, Tensor]:
    """LegoGCD's heads and losses, and labels of which half are known."""
    labels = torch.randint(KNOWN, (images,))
    labels[::2] = -1
    return build_method("legogcd", DIM, CLASSES, KNOWN).train(), labels


def learn(features: Tensor, method: Method, labels: Tensor, optimizer: torch.optim.Optimizer) -> None:
    loss = method.step(features.unflatten(0, (2, -1)), labels, 0, torch.arange(len(labels))).loss
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()


def measure(ours: Step, plain: Step, options: argparse.Namespace) -> list[tuple[float, float]]:
    """Views a second, ours and plain, by repeat; the two take turns so that a noisy moment hits both."""
    for _ in range(3):
        ours()
    plain()
    rates = []
    for _ in range(options.repeats):
        ours_rate = options.steps * 2 * IMAGES / _seconds(ours, options.steps)
        rates.append((ours_rate, options.plain_views / _seconds(plain)))
    return rates


def _seconds(step: Step, times: int = 1) -> float:
    start = time.perf_counter()
    for _ in range(times):
        step()
    return time.perf_counter() - start


def report(
    rates: list[tuple[float, float]], options: argparse.Namespace, precision: str, note: str, difference: float
) -> None:
    ours, plain = zip(*rates, strict=True)
    ratios = sorted(ours_rate / plain_rate for ours_rate, plain_rate in rates)
    print(f"{torch.get_num_threads()} threads, torch {torch.__version__}, load {os.getloadavg()[0]:.1f}")
    print(f"features agree to {difference:.1e} (trunk and tail against the whole model, float32)")
    print(f"ours   {_middle(ours):8.1f} views/s  {precision} products, bf16 tokens from a memory map, 256 views a step")
    print(f"plain  {_middle(plain):8.2f} views/s  fp32, whole ViT-B/16, timed on {options.plain_views} views a step")
    print(f"ratio  {_middle(ratios):8.1f}   ({ratios[0]:.1f}–{ratios[-1]:.1f} over {len(ratios)} repeats)")
    if note:
        print(f"note: {note}")


def _middle(values: "tuple[float, ...] | list[float]") -> float:
    return float(np.median(values))


if __name__ == "__main__":
    main()
