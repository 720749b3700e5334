"""Where the time of a step over kept views goes, part by part: ``python -m bench.speed.step``.

A part's least time is its operations at the rate of this machine's best products plus its bytes at the rate of a copy
(bench.speed.machine). ViT-B/16, 128 images, two views of each, float32 products, K = 200; weights and tokens are noise.
"""

import argparse
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import ViTConfig, ViTModel

from bench.speed.contest import said, spread
from bench.speed.kept import DIM, KNOWN, TOKENS, learner_over, write_noise
from bench.speed.machine import CLOCKS
from bench.speed.machine import measure as measure_machine
from legogcd.methods import ParametricRecipe
from legogcd.training.loop import Learner
from legogcd.training.optimizer import build_optimizer
from legogcd.vision import KeptViews
from legogcd.vision.attention import attend

IMAGES, VIEWS, HEADS, KEPT_IMAGES = 128, 256, 12, 1000
BLOCK, PROJECTOR = 12 * DIM**2, DIM * 2048 + 2048 * 2048 + 2048 * 256  # weights
ATTENTION = HEADS * TOKENS * DIM  # multiplications of one of its two products for a view


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.step", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall")
    parser.add_argument("--dtype", choices=["bf16", "int8"], default="bf16", help="of the kept tokens")
    options = parser.parse_args()
    report(measure(options.repeats, options.threads, options.clock, options.dtype))


def measure(repeats: int, threads: int, clock: str, dtype: str) -> dict[str, Any]:
    torch.set_num_threads(threads)
    machine = measure_machine(clock)
    with tempfile.TemporaryDirectory() as folder:
        ViTModel(ViTConfig(), add_pooling_layer=False).save_pretrained(Path(folder) / "vit")
        source = KeptViews(write_noise(Path(folder) / "kept", KEPT_IMAGES, 4, dtype))
        learner, _ = learner_over(source, Path(folder) / "vit", torch.arange(KEPT_IMAGES))
        times = Parts(learner, source).times(repeats, CLOCKS[clock])
    least = least_milliseconds(machine, source.layout.tensors[1].bytes_per_view)
    return {
        "threads": threads,
        "clock": clock,
        "tokens": dtype,
        "load": os.getloadavg()[0],
        "machine": machine,
        "ms": {part: spread(values) for part, values in times.items()},
        "least_ms": least,
    }


class Parts:
    """A step taken apart; what cannot run alone is a difference of two that can."""

    def __init__(self, learner: Learner, source: KeptViews) -> None:
        self.learner, self.source = learner, source
        self.optimizer = build_optimizer(learner.tail, learner.method, ParametricRecipe(learning_rate=1e-3))
        self.generator = torch.Generator().manual_seed(0)
        self.labels = torch.randint(KNOWN, (IMAGES,))
        self.labels[::2] = -1
        self.queries = (torch.randn(VIEWS, HEADS, DIM) / DIM**0.5).requires_grad_()
        self.slope = torch.randn(VIEWS, HEADS, DIM)
        self.features = torch.randn(2, IMAGES, DIM, requires_grad=True)
        self.feature_slope = torch.randn(VIEWS, DIM)

    def times(self, repeats: int, clock: Callable[[], float]) -> dict[str, list[float]]:
        """Milliseconds by part, one round after the other so that a noisy moment hits all."""
        rounds = [self._round(clock) for _ in range(repeats + 2)][2:]
        return {part: [one[part] for one in rounds] for part in rounds[0]}

    def _round(self, clock: Callable[[], float]) -> dict[str, float]:
        method: Any = self.learner.method

        def timed(work: Callable[[], Any]) -> tuple[float, Any]:
            began = clock()
            result = work()
            return 1e3 * (clock() - began), result

        rows = torch.randint(KEPT_IMAGES, (IMAGES,), generator=self.generator)
        draw, state = timed(lambda: self.source.pair(rows, self.generator))
        forwards, pooled = timed(lambda: attend(self.queries, state[1], torch.float32))
        backwards, _ = timed(lambda: pooled.backward(self.slope))
        tail, _ = timed(lambda: self.learner.tail(state).backward(self.feature_slope))
        projector, _ = timed(lambda: method.projector(self.features).sum().backward())
        heads, _ = timed(lambda: method.step(self.features, self.labels, 0, rows).loss.backward())
        update, _ = timed(self.optimizer.step)
        self.optimizer.zero_grad(set_to_none=True)
        whole, _ = timed(lambda: self._step(rows))
        return {
            "draw, read ahead": draw,
            "attention forwards": forwards,
            "attention backwards": backwards,
            "rest of the tail": tail - forwards - backwards,
            "projector": projector,
            "prototypes and losses": heads - projector,
            "SGD": update,
            "whole step": whole,
        }

    def _step(self, rows: torch.Tensor) -> None:
        features = self.learner.tail(self.source.pair(rows, self.generator)).unflatten(0, (2, IMAGES))
        loss = self.learner.method.step(features, self.labels, 0, rows).loss
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()


def least_milliseconds(machine: dict[str, float], bytes_per_view: int) -> dict[str, float]:
    def least(operations: float, bytes_moved: float = 0) -> float:
        return 1e3 * (operations / machine["gemm_gflops"] + bytes_moved / machine["copy_gbs"]) / 1e9

    reading, weights = VIEWS * bytes_per_view, BLOCK + PROJECTOR + 200 * DIM
    parts = {
        "attention forwards": least(VIEWS * 4 * ATTENTION, reading),
        "attention backwards": least(VIEWS * 4 * ATTENTION, reading),
        "rest of the tail": least(VIEWS * 6 * BLOCK),
        "projector": least(VIEWS * 6 * PROJECTOR),
        "SGD": least(0, 5 * 4 * weights),  # weight, gradient and momentum in, weight and momentum out
    }
    return {**parts, "whole step": sum(parts.values())}


def report(figures: dict[str, Any]) -> None:
    rate, copy = figures["machine"]["gemm_gflops"], figures["machine"]["copy_gbs"]
    threads, load = figures["threads"], figures["load"]
    print(f"{threads} threads, torch {torch.__version__}, load {load:.1f}, {figures['clock']} time")
    print(f"products {rate:.0f} GFLOP/s, copy {copy:.1f} GB/s, {figures['tokens']} tokens")
    whole = figures["ms"]["whole step"]["median"]
    for part, milliseconds in figures["ms"].items():
        least = figures["least_ms"].get(part)
        limit = f"at least {least:5.1f} ({least / milliseconds['median']:.0%})" if least else ""
        print(f"{part:22s} {said(milliseconds):26s} ms {milliseconds['median'] / whole:5.0%}  {limit}")
    print(f"the parts add up to {np.sum([m['median'] for p, m in figures['ms'].items() if p != 'whole step']):.1f} ms")


if __name__ == "__main__":
    main()
