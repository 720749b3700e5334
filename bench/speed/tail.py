"""A training step and an epoch's evaluation, ours against the published recipe: ``python -m bench.speed.tail``.

Kept:       our loop over kept views in a memory-mapped file, 128 images and two views of each a step: draws, tokens
            off the map, tail, heads, losses, backward, SGD. The file (1.5 GB as bf16) is larger than any cache.
Fresh:      our loop with views encoded anew, from pictures in memory.
Plain:      `PlainRecipe` on pixels in memory. Its cost is linear in the views, so it is timed on fewer (--plain-views),
            as the fresh step is.
Evaluation: every image's class from its kept evaluation view; the plain one encodes pixels.

Each has a process of its own, asked by turns; the plain ones have the C library's usual allocator settings. On a busy
machine ``--threads 1 --clock cpu`` counts processor seconds, which the others do not change much. Weights are random.
``--before DIR`` holds what is kept by another copy of legogcd against this one instead, by turns.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import ViTConfig, ViTModel

from bench.speed.contest import PLAIN_ALLOCATOR, SPINNING, Contender, Figures, answer, by_turns, compared, said, spread

if TYPE_CHECKING:  # imported where it is used: the plain contenders are free of legogcd
    from legogcd.training.loop import LabelledViews, Learner

IMAGES, STEPS, KEPT_IMAGES, KEPT_VIEWS, EVALUATED = 128, 20, 1000, 4, 2048
OURS = ("kept bf16", "kept int8", "evaluation bf16", "evaluation int8")
HERE = Path(__file__).resolve().parents[2]
BELOW_AMX = "AVX512_CORE_BF16"
GFLOP = {"kept": 0.0957, "plain": 41.0}  # a view's step, counted from the shapes; bench.speed.step has the parts


def main() -> None:
    options = read_options()
    if options.child:
        return answer(CHILDREN[options.child](options))
    if options.before:
        return report_before(options)
    report(measure(options), options)
    return None


def read_options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = options_of("bench.speed.tail", __doc__, repeats=3)
    parser.add_argument("--before", type=Path, help="another copy of legogcd, such as a git worktree")
    return parser.parse_args(arguments)


def options_of(module: str, about: str | None, repeats: int) -> argparse.ArgumentParser:
    """What every comparison with the plain step can be asked for."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=(about or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=repeats, help="rounds of everyone's turn")
    parser.add_argument("--plain-views", type=int, default=64, help="views in a plain or fresh step, even")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32", help="of our products")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Everything as one dictionary: seconds a view by contender, ratios, memory, the machine's limits."""
    from bench.speed.machine import measure as measure_machine

    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        rounds = by_turns({name: start(name, folder, options) for name in CHILDREN}, options.repeats)
    torch.set_num_threads(options.threads)
    return summary(rounds, options) | {"machine": measure_machine(options.clock)}


def report_before(options: argparse.Namespace) -> None:
    """A step and an evaluation over kept views, by this copy and by the other one."""
    with tempfile.TemporaryDirectory() as home:
        contenders = {}
        for place, copy in enumerate((options.before.resolve(), HERE)):
            module = next(name for name in ("bench.speed.tail", "bench.tail") if (copy / _file(name)).exists())
            work = f"from pathlib import Path; from {module} import prepare; prepare(Path({home!r}, '{place}'))"
            environment = os.environ | {"PYTHONPATH": str(copy)}
            subprocess.run([sys.executable, "-c", work], cwd=copy, env=environment, check=True)
            for name in OURS:
                contenders[name, place] = start(name, f"{home}/{place}", options, module, copy)
        rounds = by_turns({f"{name} {place}": one for (name, place), one in contenders.items()}, options.repeats)
    print(
        f"{options.threads} threads, {options.clock} time, load {os.getloadavg()[0]:.1f}; ms a view before, now, ratio"
    )
    for name in OURS:
        took = [[1e3 * one[f"{name} {place}"][options.clock] for one in rounds] for place in (0, 1)]
        views = rounds[0][f"{name} 0"]["views"]
        before, now = (said(spread(each / views for each in one), 3) for one in took)
        print(f"{name:17s} {before}  {now}  {said(spread(b / a for a, b in zip(*took, strict=True)), 2)}")


def _file(module: str) -> str:
    return f"{module.replace('.', '/')}.py"


def prepare(folder: Path) -> None:
    """Random weights and kept noise."""
    from bench.speed.kept import write_noise

    torch.manual_seed(0)
    ViTModel(ViTConfig(), add_pooling_layer=False).save_pretrained(folder / "vit")
    for dtype in ("bf16", "int8"):
        write_noise(folder / dtype, KEPT_IMAGES, KEPT_VIEWS, dtype)


def start(
    name: str,
    folder: str,
    options: argparse.Namespace,
    module: str = "bench.speed.tail",
    copy: Path | None = None,
) -> Contender:
    arguments = ["--folder", folder]
    for key in ("plain_views", "precision"):
        arguments += [f"--{key.replace('_', '-')}", getattr(options, key)]
    environment: dict[str, str | None] = {"OMP_NUM_THREADS": str(options.threads)}
    if name.startswith("plain"):
        environment |= PLAIN_ALLOCATOR | SPINNING
    if options.precision == "bf16":
        environment["ONEDNN_MAX_CPU_ISA"] = BELOW_AMX  # some virtual machines promise AMX and die of it
    return Contender(module, name, arguments, copy=copy, **environment)


def summary(rounds: list[dict[str, Figures]], options: argparse.Namespace) -> dict[str, Any]:
    ratios = {name: ("plain", name) for name in ("kept bf16", "kept int8", "fresh")}
    ratios |= {f"evaluation {dtype}": ("plain evaluation", f"evaluation {dtype}") for dtype in ("bf16", "int8")}
    about = {name: getattr(options, name) for name in ("threads", "clock", "precision")}
    return about | {"load": os.getloadavg()[0]} | compared(rounds, options.clock, ratios)


def kept(dtype: str) -> Callable[[argparse.Namespace], Callable[[], int]]:
    """An epoch of our loop over kept views."""

    def build(options: argparse.Namespace) -> Callable[[], int]:
        from bench.speed.kept import learner_over
        from legogcd.vision import KeptViews

        rows = torch.arange(STEPS * IMAGES) % KEPT_IMAGES
        return epoch(*learner_over(KeptViews(options.folder / dtype), options.folder / "vit", rows, options.precision))

    return build


def fresh(options: argparse.Namespace) -> Callable[[], int]:
    """One step of our loop with fresh views of a batch as large as the plain one's."""
    from bench.speed.kept import learner_over
    from legogcd.collection import ImageArrays
    from legogcd.vision import Encoder, FreshViews, load_backbone

    n_images = options.plain_views // 2
    pictures = np.random.default_rng(0).integers(0, 255, (n_images, 256, 256, 3), np.uint8)
    encoder = Encoder(load_backbone(str(options.folder / "vit")), torch.device("cpu"), options.precision)
    source = FreshViews(encoder, ImageArrays.over(pictures))
    return epoch(*learner_over(source, options.folder / "vit", torch.arange(n_images), options.precision))


def epoch(learner: "Learner", views: "LabelledViews") -> Callable[[], int]:
    """`legogcd.training.loop.train` for one epoch, again and again."""
    from legogcd.methods import ParametricRecipe
    from legogcd.training.loop import train
    from legogcd.training.optimizer import build_optimizer

    recipe = ParametricRecipe(epochs=1, batch_size=min(IMAGES, len(views.rows)), learning_rate=0.001)
    optimizer = build_optimizer(learner.tail, learner.method, recipe)

    def work() -> int:
        train(learner, views, optimizer, recipe, seed=0)
        return 2 * len(views.rows)

    return work


def evaluation(dtype: str) -> Callable[[argparse.Namespace], Callable[[], int]]:
    """Our evaluation after an epoch."""

    def build(options: argparse.Namespace) -> Callable[[], int]:
        from bench.speed.kept import learner_over
        from legogcd.vision import KeptViews

        rows = torch.arange(EVALUATED) % KEPT_IMAGES
        learner, views = learner_over(
            KeptViews(options.folder / dtype), options.folder / "vit", rows, options.precision
        )
        return lambda: len(learner.predict(views))

    return build


def plain(options: argparse.Namespace) -> Callable[[], int]:
    from bench.speed.plain import KNOWN, PlainRecipe

    recipe, images = PlainRecipe(options.folder / "vit"), torch.randn(options.plain_views, 3, 224, 224)
    labels = torch.randint(KNOWN, (options.plain_views // 2,))
    labels[::2] = -1

    def work() -> int:
        recipe.step(images, labels)
        return len(images)

    return work


def plain_evaluation(options: argparse.Namespace) -> Callable[[], int]:
    from bench.speed.plain import PlainRecipe

    recipe, images = PlainRecipe(options.folder / "vit"), torch.randn(options.plain_views, 3, 224, 224)
    return lambda: len(recipe.predict(images))


CHILDREN: dict[str, Callable[[argparse.Namespace], Callable[[], int]]] = {
    "plain": plain,
    "kept bf16": kept("bf16"),
    "kept int8": kept("int8"),
    "fresh": fresh,
    "plain evaluation": plain_evaluation,
    "evaluation bf16": evaluation("bf16"),
    "evaluation int8": evaluation("int8"),
}


def report(figures: dict[str, Any], options: argparse.Namespace) -> None:
    machine = figures["machine"]
    print(
        f"{figures['threads']} threads, torch {torch.__version__}, load {figures['load']:.1f}, {figures['clock']} "
        f"time, {figures['precision']} products, {options.plain_views} views in a plain step"
    )
    for name, milliseconds in figures["ms_per_view"].items():
        memory = figures["peak_anonymous_mb"][name]
        print(f"{name:17s} {said(milliseconds, 3):32s} ms a view, {memory:5.0f} MB of memory at most")
    for name, ratio in figures["ratios"].items():
        print(f"{name:17s} {said(ratio):32s} times the plain one")
    for name, gflop in (("plain", GFLOP["plain"]), ("kept bf16", GFLOP["kept"])):
        rate = gflop / figures["ms_per_view"][name]["median"] * 1e3
        share = rate / machine["gemm_gflops"]
        print(
            f"{name:17s} {rate:.0f} GFLOP/s, {share:.0%} of the {machine['gemm_gflops']:.0f} of this machine's products"
        )


if __name__ == "__main__":
    sys.exit(main())
