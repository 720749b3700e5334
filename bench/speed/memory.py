"""Memory of training over kept views, whatever their number: ``python -m bench.speed.memory``.

6,000 and 100,000 images with 4 views each (9 and 151 GB as bf16, in sparse files that take no disk), ViT-B/16: the
loop with every image drawn from, stopped after some steps, then the evaluation of some images. Counted is memory of the
process's own; pages of the mapped file are the system's and are dropped when it needs them. The batch itself, 256
views' tokens, would be 78 MB.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import ViTConfig, ViTModel

from bench.speed.contest import Contender, anonymous_mb, answer

SIZES, VIEWS, STEPS, EVALUATED = (6_000, 100_000), 4, 10, 1024


def main() -> None:
    options = read_options()
    if options.child:
        return answer(training(options.folder, int(options.child)))
    report(measure(options.threads))
    return None


def read_options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.memory", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def measure(threads: int) -> dict[str, Any]:
    """Megabytes of anonymous memory at most, by number of images."""
    from bench.speed.kept import write_noise

    peaks = {}
    with tempfile.TemporaryDirectory() as folder:
        ViTModel(ViTConfig(), add_pooling_layer=False).save_pretrained(Path(folder) / "vit")
        for size in SIZES:
            write_noise(Path(folder) / str(size), size, VIEWS, "bf16", sparse=True)
            child = Contender("bench.speed.memory", str(size), ["--folder", folder], OMP_NUM_THREADS=str(threads))
            child.ask()
            peaks[str(size)] = child.ask()["peak_mb"]
            child.close()
    return {"threads": threads, "anonymous_mb_before": anonymous_mb(), "peak_anonymous_mb": peaks}


class Enough(Exception):  # noqa: N818
    """The loop has made its steps."""


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
        steps = 0

        def count(*_: object) -> None:
            nonlocal steps
            steps += 1
            if steps == STEPS:
                raise Enough

        hook = optimizer.register_step_post_hook(count)
        try:
            train(learner, views, optimizer, recipe, seed=0)
        except Enough:
            hook.remove()
        chosen = torch.linspace(0, n_images - 1, EVALUATED).long()
        learner.features(views, chosen.numpy())
        return steps

    return work


def report(figures: dict[str, Any]) -> None:
    print(f"{figures['threads']} threads, torch {torch.__version__}, {STEPS} steps of 256 views, ViT-B/16")
    for size, peak in figures["peak_anonymous_mb"].items():
        print(f"{int(size):7,d} images: {peak:6.0f} MB of anonymous memory at most")


if __name__ == "__main__":
    sys.exit(main())
