"""Where the arithmetic happens: device, precision, threads."""

import os
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from torch import Tensor

from legogcd.errors import UserError
from legogcd.training.processes import Processes, open_processes
from legogcd.vision.views.encode import autocast

LIMIT = "ONEDNN_MAX_CPU_ISA"
DEVICES = ("auto", "cpu", "cuda", "mps")
PRECISIONS = ("auto", "fp32", "bf16")


@dataclass(frozen=True)
class Runtime:
    """A device with accelerate's hands on it, and the precision of the matrix products."""

    accelerator: Accelerator
    precision: str
    processes: Processes = field(default_factory=Processes)

    @property
    def device(self) -> torch.device:
        device: torch.device = self.accelerator.device
        return device

    def autocast(self) -> torch.autocast:
        return autocast(self.device, self.precision)

    def backward(self, loss: Tensor) -> None:
        self.accelerator.backward(loss)

    def describe(self) -> str:
        count = torch.get_num_threads()
        threads = f", {count} thread{'s' * (count > 1)}" if self.device.type == "cpu" else ""
        others = f", one of {self.processes.count} processes" if self.processes.count > 1 else ""
        return f"{self.device.type}{threads}, {self.precision}{others}"


def open_runtime(device: str = "auto", precision: str = "auto", threads: int | None = None) -> Runtime:
    """Pick a device (CUDA, then MPS, then CPU unless told) and a precision (bf16 where the hardware multiplies it)."""
    if device not in DEVICES:
        raise UserError(f"unknown device {device!r}; there are: {', '.join(DEVICES)}")
    if precision not in PRECISIONS:
        raise UserError(f"unknown precision {precision!r}; there are: {', '.join(PRECISIONS)}")
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not there.get(device, True):
        raise UserError(f"no {device} device on this machine; --device auto takes what there is")
    if threads is not None:
        torch.set_num_threads(max(1, threads))
    os.environ.setdefault("ACCELERATE_LOG_LEVEL", "error")
    AcceleratorState._reset_state(reset_partial_state=True)  # an earlier run in this process may have chosen otherwise
    accelerator = Accelerator(cpu=device == "cpu", mixed_precision="no")
    if precision == "auto":
        precision = "bf16" if _multiplies_bf16(accelerator.device) else "fp32"
    elif precision == "bf16" and accelerator.device.type == "cpu" and _claims_amx() and not survives_bf16():
        raise UserError("this CPU says it multiplies bf16 but crashes when it does; use --precision fp32")
    return Runtime(accelerator, precision, open_processes(accelerator.device))


def _multiplies_bf16(device: torch.device) -> bool:
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return device.type == "cpu" and _claims_amx() and survives_bf16()


def _claims_amx() -> bool:
    claims: Any = getattr(torch.cpu, "_is_amx_tile_supported", None)
    return bool(claims and claims())


@cache
def survives_bf16(below: str = "") -> bool:
    """Whether a bf16 product works here: some virtual machines name AMX among their features and die of it.

    ``below`` holds oneDNN to an older instruction set, by the name it has for it.
    """
    trial = "import torch; x = torch.ones(64, 64, dtype=torch.bfloat16); torch.nn.functional.linear(x, x)"
    environment = os.environ | ({LIMIT: below} if below else {})
    return subprocess.run([sys.executable, "-c", trial], capture_output=True, env=environment).returncode == 0
