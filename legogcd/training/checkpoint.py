"""A run's state between two epochs, in one safetensors file: nothing in it can execute."""

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from legogcd.errors import UserError
from legogcd.files import replacing

TAIL, METHOD, MOMENTUM = "tail.", "method.", "momentum."


def model_tensors(tail: nn.Module, method: nn.Module) -> dict[str, Tensor]:
    """Everything that was learned, by name, on the CPU."""
    named = {f"{TAIL}{name}": tensor for name, tensor in tail.state_dict().items()}
    named |= {f"{METHOD}{name}": tensor for name, tensor in method.state_dict().items()}
    return {name: tensor.detach().cpu().contiguous().clone() for name, tensor in named.items()}


def save_tensors(path: Path, tensors: dict[str, Tensor], **metadata: str) -> None:
    with replacing(path) as temporary:
        save_file(tensors, temporary, metadata={"format": "legogcd-1", **metadata})


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path} cannot be read as safetensors: {error}") from None


def load_model(tail: nn.Module, method: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Put saved tensors back; they must fit."""
    for module, prefix in ((tail, TAIL), (method, METHOD)):
        state = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
        try:
            module.load_state_dict(state)
        except RuntimeError as error:
            raise UserError(f"the saved model does not fit: {' '.join(str(error).split())[:200]}") from None


def save_checkpoint(
    path: Path, tail: nn.Module, method: nn.Module, optimizer: torch.optim.Optimizer, next_epoch: int
) -> None:
    """Model, momentum and the number of epochs behind it."""
    tensors = model_tensors(tail, method)
    for number, state in optimizer.state_dict()["state"].items():
        if state.get("momentum_buffer") is not None:
            tensors[f"{MOMENTUM}{number}"] = state["momentum_buffer"].detach().cpu().contiguous()
    save_tensors(path, tensors, next_epoch=str(next_epoch))


def load_checkpoint(path: Path, tail: nn.Module, method: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Restore what `save_checkpoint` saved; returns the epoch to go on with."""
    tensors, metadata = load_tensors(path)
    load_model(tail, method, tensors)
    state: dict[str, Any] = optimizer.state_dict()
    state["state"] = {
        int(name.removeprefix(MOMENTUM)): {"momentum_buffer": tensor}
        for name, tensor in tensors.items()
        if name.startswith(MOMENTUM)
    }
    optimizer.load_state_dict(state)
    return int(metadata["next_epoch"])
