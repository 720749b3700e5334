"""What threads that spin while they wait cost, beside whatever else runs: ``python -m bench.speed.waiting``.

60 products of 256 × 2048 × 2048 with GELU on two threads, by turns in processes that spin, as OpenMP does where nobody
says anything, and that sleep, as `legogcd.thread_wait` asks for.
"""

import argparse
import os
import subprocess
import sys

PROGRAM = """
import time, torch
torch.set_num_threads(2)
given, weight, made = torch.randn(256, 2048), torch.randn(2048, 2048), torch.empty(256, 2048)
def work(times):
    for _ in range(times):
        torch.mm(given, weight.t(), out=made)
        torch.nn.functional.gelu(made)
work(5)
wall, cpu = time.perf_counter(), time.process_time()
work(60)
print(f"{time.perf_counter() - wall:.1f} s, {time.process_time() - cpu:.1f} s of CPU")
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.waiting", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=4)
    for _ in range(parser.parse_args().repeats):
        for name, asked in (("spinning", {}), ("sleeping", {"OMP_WAIT_POLICY": "passive"})):
            usual = {key: value for key, value in os.environ.items() if key != "OMP_WAIT_POLICY"}
            done = subprocess.run([sys.executable, "-c", PROGRAM], env=usual | asked, capture_output=True, text=True)
            print(name, done.stdout.strip(), f"(load {os.getloadavg()[0]:.0f})", flush=True)


if __name__ == "__main__":
    main()
