"""Would torch.compile pay? ``python -m bench.compiled``: ViT-B/16, random weights, as it is and compiled, by turns.

CPU time of a forward pass, median over the turns, and how long compiling takes (it needs a C++ compiler).
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from transformers import ViTConfig, ViTModel


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.compiled", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--views", type=int, default=8, help="of a call; the trunk takes at most 8")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    plain = ViTModel(ViTConfig(), add_pooling_layer=False).eval()
    compiled = torch.compile(plain)
    images = torch.randn(options.views, 3, 224, 224)
    with torch.inference_mode():
        took(plain, images)
        began = time.monotonic()
        difference = (compiled(images).last_hidden_state - plain(images).last_hidden_state).abs().max()
        seconds = time.monotonic() - began
        turns = [(took(plain, images), took(compiled, images)) for _ in range(options.repeats)]
    ratios = sorted(ours / theirs for ours, theirs in turns)
    print(f"compiling took {seconds:.0f} s; outputs differ by {difference:.1g} at most")
    print(f"compiled is {statistics.median(ratios):.2f} times as fast ({ratios[0]:.2f} to {ratios[-1]:.2f})")


def took(model: Callable[[torch.Tensor], object], images: torch.Tensor) -> float:
    began = time.process_time()
    model(images)
    return time.process_time() - began


if __name__ == "__main__":
    main()
