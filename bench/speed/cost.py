"""What an image and a step cost, and what a large run would: ``python -m bench.speed.cost``.

FLOP are counted by torch on tensors without content. What processes hand to each other in a step is computed by
`handed_over` and compared with what two and three local processes really hand over. The large runs are arithmetic on
top of that: the rates of GPUs, links and disks are assumptions (``--help``), not measurements.
"""

import argparse
import math
import os
import socket
import tempfile
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing
from torch.utils.flop_counter import FlopCounterMode
from transformers import ViTConfig, ViTModel

from legogcd.methods import build_method, method_entry
from legogcd.training.processes import open_processes

METHOD, CLASSES, KNOWN = "legogcd+", 100, 50
VIEWS, TOKENS, WIDTH = 5, 197, 768  # four views and the evaluation view of ViT-B/16
BLOCK = 12 * WIDTH**2 + 13 * WIDTH  # parameters of its last block, which is trained
STEP_FLOP = 24.5e9 / 256  # of a view of a step over kept tokens (docs/performance.md)
JPEG = 110e3  # bytes of an ImageNet file


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.cost", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--gpu", type=float, default=100e12, help="FLOP a second that a GPU keeps up; assumed")
    parser.add_argument("--link", type=float, default=25e9, help="bytes a second between two of them; assumed")
    parser.add_argument("--disk", type=float, default=3e9, help="bytes a second of a machine's disk; assumed")
    parser.add_argument("--decode", type=float, default=250, help="JPEGs a second of a core; assumed")
    options = parser.parse_args()
    view = trunk_flop()
    print(f"ViT-B/16 at 224: {view / 1e9:.1f} GFLOP a view, {VIEWS * view / 1e9:.0f} an image of {VIEWS} views")
    print(f"kept: {kept_bytes() / 1e6:.2f} MB an image in bf16, {kept_bytes(1) / 1e6:.2f} in int8")
    for count in (2, 3):
        for batch in (128, 50):
            said, done = handed_over(batch, count, 320, 1280), really_handed_over(batch, count)
            print(f"{count} processes, batch {batch}: {said:,} bytes of each a step by the model, {done:,} really")
    step = handed_over(128, 8, WIDTH, WIDTH, BLOCK)
    print(f"ViT-B/16, batch 128, 8 processes: {step / 1e6:.1f} MB of each a step")
    large("ImageNet-1k, 1,281,167 images, one machine of 8 GPUs", 1_281_167, 1_281_167, 8, 1, 96, view, options)
    large("100 million images, 200,000 learned from, 64 GPUs on 8 machines", 10**8, 200_000, 64, 8, 96, view, options)


def trunk_flop() -> float:
    with torch.device("meta"):
        model, image = ViTModel(ViTConfig(), add_pooling_layer=False), torch.empty(1, 3, 224, 224)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(image)
    return float(counter.get_total_flops())


def kept_bytes(of_a_number: int = 2) -> int:
    return VIEWS * TOKENS * WIDTH * of_a_number


def handed_over(batch: int, count: int, state: int, dim: int, tail: int | None = None) -> int:
    """Bytes that a process gives to the others in a step: its rows of the features and of what the projector makes of
    them, of the features' gradients, and the gradients of the tail and the projector."""
    method = build_method(METHOD, dim, CLASSES, KNOWN, method_entry(METHOD).recipe())
    projector = sum(p.numel() for module in method.row_by_row() for p in module.parameters() if p.requires_grad)
    out = method_entry(METHOD).recipe().projector_out
    rows = 2 * math.ceil(batch / count)
    tail = state * dim + dim if tail is None else tail
    return 4 * (rows * (dim + out + dim) + tail + projector)


def really_handed_over(batch: int, count: int) -> int:
    with socket.socket() as free, tempfile.TemporaryDirectory() as home:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        torch.multiprocessing.spawn(_step, (batch, count, port, home), nprocs=count)
        return int((Path(home) / "bytes").read_text())


def _step(rank: int, batch: int, count: int, port: int, home: str) -> None:
    torch.set_num_threads(1)
    os.environ.update(WORLD_SIZE=str(count), RANK=str(rank), LOCAL_WORLD_SIZE=str(count), LOCAL_RANK=str(rank))
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    processes = open_processes(torch.device("cpu"))
    torch.manual_seed(0)
    method = build_method(METHOD, 1280, CLASSES, KNOWN, method_entry(METHOD).recipe())
    tail, by_rows, given = torch.nn.Linear(320, 1280), method.row_by_row(), [0]
    gather, reduce = dist.all_gather, dist.all_reduce

    def counted_gather(parts: list[torch.Tensor], own: torch.Tensor, *more: Any) -> Any:
        given[0] += own.numel() * own.element_size()
        return gather(parts, own, *more)

    def counted_reduce(own: torch.Tensor, *more: Any) -> Any:
        given[0] += own.numel() * own.element_size()
        return reduce(own, *more)

    dist.all_gather, dist.all_reduce = counted_gather, counted_reduce
    states, labels = torch.randn(2, batch, 320), torch.randint(-1, KNOWN, (batch,))
    with processes.by_rows(by_rows):
        own = tail(states[:, processes.part(batch)])
        step = method.step(processes.whole(own, batch), labels, 0, torch.arange(batch))
    step.loss.backward()
    processes.add_gradients([tail, *by_rows])
    if rank == 0:
        (Path(home) / "bytes").write_text(str(given[0]))
    dist.destroy_process_group()


def large(
    what: str, images: int, learned: int, gpus: int, machines: int, cores: int, view: float, options: argparse.Namespace
) -> None:
    """Hours by what would take them, each as if nothing else did."""
    epochs, batch = 30, 128 * gpus
    views = VIEWS * learned + (images - learned)
    steps = epochs * learned // batch
    sent = handed_over(batch, gpus, WIDTH, WIDTH, BLOCK)
    read = learned * 2 * (kept_bytes() / VIEWS) * epochs
    hours = {
        "trunk": views * view / (gpus * options.gpu),
        "decoding": images / (options.decode * cores * machines),
        "reading files": images * JPEG / (options.disk * machines),
        "writing tokens": learned * kept_bytes() / (options.disk * machines),
        f"{epochs} epochs: products": 2 * learned * epochs * STEP_FLOP / (gpus * options.gpu),
        f"{epochs} epochs: reading two views": read / (options.disk * machines),
        f"{epochs} epochs: what processes say": steps * 2 * sent / options.link,
    }
    print(f"\n{what}: {learned * kept_bytes() / 1e12:.2f} TB of tokens, {epochs} epochs of batch {batch}")
    for part, seconds in hours.items():
        print(f"  {part:<36} {seconds / 3600:8.2f} h")


if __name__ == "__main__":
    main()
