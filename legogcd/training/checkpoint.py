"""A run's tensors in safetensors files: nothing in them can execute, and a damaged one is noticed."""

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from legogcd.errors import DamagedFileError, UserError
from legogcd.files import parse_json, replacing

TAIL, METHOD, MOMENTUM = "tail.", "method.", "momentum."
_FORMAT = "legogcd-2"
_ABOUT = "legogcd"  # the one key of the metadata: safetensors does not keep the order of several


def model_tensors(tail: nn.Module, method: nn.Module) -> dict[str, Tensor]:
    """Everything that was learned, by name, on the CPU."""
    named = {f"{TAIL}{name}": tensor for name, tensor in tail.state_dict().items()}
    named |= {f"{METHOD}{name}": tensor for name, tensor in method.state_dict().items()}
    return {name: _copied(tensor) for name, tensor in named.items()}


def checkpoint_tensors(tail: nn.Module, method: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Everything that was learned, and the momentum."""
    tensors = model_tensors(tail, method)
    for number, state in optimizer.state_dict()["state"].items():
        if state.get("momentum_buffer") is not None:
            tensors[f"{MOMENTUM}{number}"] = _copied(state["momentum_buffer"])
    return tensors


def save_tensors(path: Path, tensors: dict[str, Tensor], **about: Any) -> None:
    """Write tensors with a digest of them; ``about`` is kept beside them as JSON."""
    described = {"format": _FORMAT, "digest": _digest(tensors), **about}
    with replacing(path) as temporary:
        temporary.write_bytes(save(tensors, {_ABOUT: json.dumps(described, sort_keys=True, ensure_ascii=False)}))


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and what was said about them; a file that is cut, changed or holds NaN is refused."""
    try:
        with safe_open(path, framework="pt") as file:
            about = parse_json((file.metadata() or {})[_ABOUT])
            # copies: what the file is mapped to would change with the file
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, KeyError, ValueError, TypeError) as error:
        raise DamagedFileError(f"{path} cannot be read as a file of legogcd: {' '.join(str(error).split())}") from None
    if not isinstance(about, dict) or about.get("format") != _FORMAT or about.get("digest") != _digest(tensors):
        raise DamagedFileError(f"{path} is damaged: it does not hold what was written into it")
    spoiled = [name for name, tensor in tensors.items() if tensor.is_floating_point() and not tensor.isfinite().all()]
    if spoiled:
        raise DamagedFileError(f"{path} holds numbers that are not finite, first in {spoiled[0]!r}")
    return tensors, about


def load_model(tail: nn.Module, method: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Put saved tensors back; they must fit."""
    for module, prefix in ((tail, TAIL), (method, METHOD)):
        state = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
        try:
            module.load_state_dict(state)
        except RuntimeError as error:
            raise UserError(f"the saved model does not fit: {' '.join(str(error).split())[:200]}") from None


def load_checkpoint(
    tail: nn.Module, method: nn.Module, optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]
) -> None:
    """Put back what `checkpoint_tensors` took, each momentum in the memory layout of its parameter.

    A fused step walks parameter and momentum side by side and does not look at their strides.
    """
    load_model(tail, method, tensors)
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state: dict[str, Any] = optimizer.state_dict()
    state["state"] = {
        int(name.removeprefix(MOMENTUM)): {"momentum_buffer": tensor}
        for name, tensor in tensors.items()
        if name.startswith(MOMENTUM)
    }
    optimizer.load_state_dict(state)
    for parameter in parameters:
        kept = optimizer.state[parameter]
        if "momentum_buffer" in kept:
            kept["momentum_buffer"] = torch.empty_like(parameter).copy_(kept["momentum_buffer"])


def _copied(tensor: Tensor) -> Tensor:
    return tensor.detach().cpu().contiguous().clone()


def _digest(tensors: dict[str, Tensor]) -> str:
    """Over names, types, shapes and bytes; the order does not matter."""
    total = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        total.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        if tensor.numel():
            total.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()
