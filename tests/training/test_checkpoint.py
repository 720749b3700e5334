"""Saved tensors come back bit by bit in their own memory layout, and a file that was changed is refused."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from legogcd.errors import DamagedFileError
from legogcd.training.checkpoint import checkpoint_tensors, load_checkpoint, load_tensors, save_tensors


class Head(nn.Module):
    """A convolution's weight as the EfficientNet tail has it: its channels are last in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.arange(24.0).view(4, 6).t().view(6, 4, 1, 1))
        assert not self.weight.is_contiguous()


def stepped(head: Head, optimizer: torch.optim.Optimizer, steps: int) -> torch.Tensor:
    for _ in range(steps):
        optimizer.zero_grad()
        (head.weight * torch.linspace(-1, 1, 24).view(6, 4, 1, 1)).square().sum().backward()
        optimizer.step()
    return head.weight.detach().clone()


def optimizer_of(head: Head) -> torch.optim.Optimizer:
    return torch.optim.SGD([{"params": [head.weight]}], lr=0.1, momentum=0.9, fused=True)


def test_momentum_returns_in_the_layout_of_its_parameter(tmp_path: Path) -> None:
    head, other = Head(), nn.Linear(1, 1)
    optimizer = optimizer_of(head)
    stepped(head, optimizer, 3)
    save_tensors(tmp_path / "file.safetensors", checkpoint_tensors(head, other, optimizer))
    whole = stepped(head, optimizer, 3)
    again = Head()
    optimizer = optimizer_of(again)
    load_checkpoint(again, other, optimizer, load_tensors(tmp_path / "file.safetensors")[0])
    assert optimizer.state[again.weight]["momentum_buffer"].stride() == again.weight.stride()
    assert torch.equal(stepped(again, optimizer, 3), whole)


def example() -> dict[str, torch.Tensor]:
    return {"tail.weight": torch.arange(6.0).view(2, 3), "method.count": torch.tensor([3, 4])}


def test_the_same_tensors_are_the_same_bytes_and_come_back(tmp_path: Path) -> None:
    for name in ("one", "two"):
        save_tensors(tmp_path / name, example(), epochs=3, metrics="x")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    tensors, about = load_tensors(tmp_path / "one")
    assert all(torch.equal(tensors[name], tensor) for name, tensor in example().items())
    assert (about["epochs"], about["metrics"]) == (3, "x")


def test_every_flipped_bit_is_found_or_harmless(tmp_path: Path) -> None:
    path = tmp_path / "file.safetensors"
    save_tensors(path, example())
    content = path.read_bytes()
    harmless = 0
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1 << (place % 8)
        path.write_bytes(changed)
        try:
            tensors, _ = load_tensors(path)
        except DamagedFileError:
            continue
        harmless += 1
        assert all(torch.equal(tensors[name], tensor) for name, tensor in example().items())
    assert harmless < 10  # white space of the header


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.99])
def test_a_cut_file_is_found(tmp_path: Path, share: float) -> None:
    path = tmp_path / "file.safetensors"
    save_tensors(path, example())
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(DamagedFileError):
        load_tensors(path)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(tmp_path: Path, bad: float) -> None:
    save_tensors(tmp_path / "file", {"w": torch.tensor([1.0, bad])})
    with pytest.raises(DamagedFileError, match="not finite, first in 'w'"):
        load_tensors(tmp_path / "file")


def test_something_else_is_one_line(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    save_file({"w": torch.zeros(2)}, tmp_path / "foreign")
    (tmp_path / "text").write_text("no tensors here")
    for name in ("foreign", "text", "missing"):
        with pytest.raises(DamagedFileError, match="cannot be read as a file of legogcd"):
            load_tensors(tmp_path / name)
