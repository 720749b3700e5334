"""What this machine can do at most: ``python -m bench.speed.machine``. Shares of it stand beside the other figures.

Products: float32, 2048 × 2048 × 2048. Copy: 512 MB to another 512 MB, bytes read plus bytes written; no cache holds it.
"""

import argparse
import os
import time
from collections.abc import Callable

import torch

CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}


def measure(clock: str = "wall", repeats: int = 9) -> dict[str, float]:
    """Billions of float32 operations a second, and of bytes copied; the best of several, as a limit should be."""
    one, other, product = (torch.randn(2048, 2048) for _ in range(3))
    source = torch.zeros(512 << 20, dtype=torch.uint8)
    target = torch.ones_like(source)
    gemm = best(lambda: torch.mm(one, other, out=product), CLOCKS[clock], repeats)
    copy = best(lambda: target.copy_(source), CLOCKS[clock], repeats)
    return {
        "threads": torch.get_num_threads(),
        "gemm_gflops": 2 * 2048**3 / gemm / 1e9,
        "copy_gbs": 2 * source.numel() / copy / 1e9,
    }


def best(work: Callable[[], object], clock: Callable[[], float], repeats: int) -> float:
    """Seconds of the quickest of several calls, after one that is not counted."""
    work()
    times = []
    for _ in range(repeats):
        began = clock()
        work()
        times.append(clock() - began)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.machine", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    limits = measure(options.clock)
    print(f"{limits['threads']} threads, torch {torch.__version__}, load {os.getloadavg()[0]:.1f}")
    print(f"float32 products {limits['gemm_gflops']:.0f} GFLOP/s, copy {limits['copy_gbs']:.1f} GB/s (read + written)")


if __name__ == "__main__":
    main()
