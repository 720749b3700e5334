"""Memory of each phase of a large run, and of training whatever the number of images: ``python -m bench.speed.memory``.

The phases are those of `bench.speed.phase_memory`: 100,000 images, 1,000 classes, the default backbone; each in a
process of its own, from begin to end where ``--whole`` is given, else without repetitions that hold no more.

Training alone: 6,000 and 100,000 images with 4 views each (9 and 151 GB as bf16, in sparse files that take no disk),
ViT-B/16: the loop with every image drawn from, stopped after some steps, then the evaluation of some images. Counted is
memory of the process's own; pages of the mapped file are the system's and are dropped when it needs them. The batch
itself, 256 views' tokens, would be 78 MB.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import ViTConfig, ViTModel

from bench.speed import phase_memory
from bench.speed.contest import Contender, anonymous_mb, answer
from legogcd.run.own_process import in_own_process

SIZES, VIEWS, STEPS, EVALUATED = (6_000, 100_000), 4, 10, 1024


def main() -> None:
    options = read_options()
    if options.child:
        return answer(training(options.folder, int(options.child)))
    report(measure(options.threads, options.whole))
    return None


def read_options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.memory", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--whole", action="store_true", help="phases from begin to end: ten minutes of one core")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def measure(threads: int, whole: bool = False) -> dict[str, Any]:
    """Megabytes of anonymous memory at most, by phase and by number of images."""
    from bench.speed.kept import write_noise

    phases = by_phase(threads, whole)
    peaks = {}
    with tempfile.TemporaryDirectory() as folder:
        ViTModel(ViTConfig(), add_pooling_layer=False).save_pretrained(Path(folder) / "vit")
        for size in SIZES:
            write_noise(Path(folder) / str(size), size, VIEWS, "bf16", sparse=True)
            child = Contender("bench.speed.memory", str(size), ["--folder", folder], OMP_NUM_THREADS=str(threads))
            child.ask()
            peaks[str(size)] = child.ask()["peak_mb"]
            child.close()
    before = anonymous_mb()
    return {"threads": threads, "phase_mb": phases, "anonymous_mb_before": before, "peak_anonymous_mb": peaks}


def by_phase(threads: int, whole: bool) -> dict[str, float]:
    """Megabytes of anonymous memory at most, by phase."""
    work, found = phase_memory.measured if whole else phase_memory.shortly, {}
    for phase in phase_memory.PHASES:
        with tempfile.TemporaryDirectory() as folder:
            found[phase] = in_own_process(work, phase, Path(folder), threads)[0][1] / 1e6
        print(f"{phase:9s} {found[phase]:6.0f} MB", flush=True)
    return found


def training(folder: Path, n_images: int) -> Callable[[], int]:
    from bench.speed.kept import learner_over
    from legogcd.methods import ParametricRecipe
    from legogcd.training.loop import train
    from legogcd.training.optimizer import build_optimizer
    from legogcd.vision import KeptViews

    learner, views = learner_over(KeptViews(folder / str(n_images)), folder / "vit", torch.arange(n_images))
    recipe = ParametricRecipe(epochs=1, learning_rate=1e-4)
    optimizer = build_optimizer(learner.tail, learner.method, recipe)

    def work() -> int:
        with phase_memory.stopped_after(STEPS, optimizer):
            train(learner, views, optimizer, recipe, seed=0)
        chosen = torch.linspace(0, n_images - 1, EVALUATED).long()
        learner.features(views, chosen.numpy())
        return STEPS

    return work


def report(figures: dict[str, Any]) -> None:
    print(f"{figures['threads']} threads, torch {torch.__version__}, {STEPS} steps of 256 views, ViT-B/16")
    for size, peak in figures["peak_anonymous_mb"].items():
        print(f"{int(size):7,d} images: {peak:6.0f} MB of anonymous memory at most")


if __name__ == "__main__":
    sys.exit(main())
