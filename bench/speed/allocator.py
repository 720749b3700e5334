"""EfficientNet-Lite0 with and without our allocator settings, by turns: ``python -m bench.speed.allocator``."""

import argparse
import os
import statistics
import subprocess
import sys

from legogcd.allocator import SWITCH

CHILD = """
import time, torch
from legogcd.vision import load_backbone
backbone, images = load_backbone("efficientnet-lite0"), torch.randn({batch}, 3, 224, 224)
backbone.trunk(images)
began = time.perf_counter()
for _ in range({rounds}):
    backbone.trunk(images)
print({batch} * {rounds} / (time.perf_counter() - began))
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.allocator", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--batch", type=int, default=64)
    options = parser.parse_args()
    program = CHILD.format(batch=options.batch, rounds=options.rounds)
    ratios = []
    for _ in range(options.repeats):
        plain, ours = rate(program, {SWITCH: "1"}), rate(program, {SWITCH: ""})
        ratios.append(ours / plain)
        print(f"plain {plain:.1f} images/s, thresholds raised {ours:.1f} images/s, ratio {ratios[-1]:.2f}", flush=True)
    print(f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def rate(program: str, environment: dict[str, str]) -> float:
    child = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | environment, capture_output=True, text=True, check=True
    )
    return float(child.stdout)


if __name__ == "__main__":
    main()
