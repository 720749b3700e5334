"""DINO's own .pth layout against its block written out plainly: joint qkv, no transformers."""

import argparse
import math
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from legogcd.errors import UserError
from legogcd.vision.backbones import load_backbone

DIM, HEADS, PATCH, SIDE, DEPTH = 128, 2, 8, 4, 2


def random_weights(seed: int = 0) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)

    def values(*shape: int, around: float = 0.0) -> Tensor:
        return around + 0.1 * torch.randn(*shape, generator=generator)

    weights = {
        "cls_token": values(1, 1, DIM),
        "pos_embed": values(1, 1 + SIDE * SIDE, DIM) * 5,
        "patch_embed.proj.weight": values(DIM, 3, PATCH, PATCH),
        "patch_embed.proj.bias": values(DIM),
        "norm.weight": values(DIM, around=1.0),
        "norm.bias": values(DIM),
    }
    for block in (f"blocks.{number}." for number in range(DEPTH)):
        for name, (rows, columns) in {
            "attn.qkv": (3 * DIM, DIM),
            "attn.proj": (DIM, DIM),
            "mlp.fc1": (4 * DIM, DIM),
            "mlp.fc2": (DIM, 4 * DIM),
        }.items():
            weights |= {f"{block}{name}.weight": values(rows, columns), f"{block}{name}.bias": values(rows)}
        for name in ("norm1", "norm2"):
            weights |= {f"{block}{name}.weight": values(DIM, around=1.0), f"{block}{name}.bias": values(DIM)}
    return weights


def dino_features(weights: dict[str, Tensor], images: Tensor) -> Tensor:
    """The CLS feature as DINO computes it."""
    count, _, height, width = images.shape
    rows, columns = height // PATCH, width // PATCH
    patches = functional.conv2d(images, weights["patch_embed.proj.weight"], weights["patch_embed.proj.bias"], PATCH)
    x = torch.cat([weights["cls_token"].expand(count, 1, DIM), patches.flatten(2).transpose(1, 2)], dim=1)
    positions = weights["pos_embed"]
    if (rows, columns) != (SIDE, SIDE):
        grid = positions[0, 1:].T.reshape(1, DIM, SIDE, SIDE)
        scale = ((rows + 0.1) / math.sqrt(SIDE * SIDE), (columns + 0.1) / math.sqrt(SIDE * SIDE))
        grid = functional.interpolate(grid, scale_factor=scale, mode="bicubic")
        assert grid.shape[-2:] == (rows, columns)
        positions = torch.cat([positions[:, :1], grid[0].reshape(DIM, -1).T[None]], dim=1)
    x = x + positions

    def norm(x: Tensor, name: str) -> Tensor:
        mean, variance = x.mean(-1, keepdim=True), x.var(-1, unbiased=False, keepdim=True)
        return (x - mean) / torch.sqrt(variance + 1e-6) * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def linear(x: Tensor, name: str) -> Tensor:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    for block in (f"blocks.{number}." for number in range(DEPTH)):
        qkv = linear(norm(x, f"{block}norm1"), f"{block}attn.qkv")
        q, k, v = qkv.reshape(count, -1, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        attention = (q @ k.transpose(-2, -1) / math.sqrt(DIM // HEADS)).softmax(-1)
        x = x + linear((attention @ v).transpose(1, 2).reshape(count, -1, DIM), f"{block}attn.proj")
        hidden = functional.gelu(linear(norm(x, f"{block}norm2"), f"{block}mlp.fc1"))
        x = x + linear(hidden, f"{block}mlp.fc2")
    return norm(x, "norm")[:, 0]


def random_images(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def saved(path: Path, content: object) -> Path:
    torch.save(content, path)
    return path


@pytest.mark.parametrize("size", [(32, 32), (48, 48), (16, 56), (16, 64)])
def test_features_are_dinos(tmp_path: Path, size: tuple[int, int]) -> None:
    weights = random_weights()
    path = saved(tmp_path / "dino.pth", weights)
    images = random_images(2, 3, *size)
    for train_blocks in (1, 2):
        backbone = load_backbone(path, image_size=32, train_blocks=train_blocks)
        assert (backbone.family, backbone.dim, backbone.name) == ("vit", DIM, str(path))
        assert backbone.mean == (0.485, 0.456, 0.406)
        with torch.no_grad():
            assert torch.allclose(backbone(images), dino_features(weights, images), atol=1e-5, rtol=1e-5)


def test_gradients_of_the_last_block_are_dinos(tmp_path: Path) -> None:
    weights = random_weights()
    backbone = load_backbone(saved(tmp_path / "dino.pt", weights), image_size=32)
    images, direction = random_images(3, 3, 32, 32), random_images(3, DIM)
    (backbone(images) * direction).sum().backward()
    plain = {name: tensor.clone().requires_grad_() for name, tensor in weights.items()}
    (dino_features(plain, images) * direction).sum().backward()
    ours = {name: parameter.grad for name, parameter in backbone.tail.blocks[0].named_parameters()}
    joint = torch.cat([ours[f"attention.{part}_proj.weight"] for part in "qkv"])
    pairs = {
        "attn.qkv.weight": joint,
        "attn.proj.weight": ours["attention.o_proj.weight"],
        "norm1.weight": ours["layernorm_before.weight"],
        "norm1.bias": ours["layernorm_before.bias"],
        "mlp.fc1.weight": ours["mlp.fc1.weight"],
        "mlp.fc2.bias": ours["mlp.fc2.bias"],
    }
    for name, gradient in pairs.items():
        expected = plain[f"blocks.{DEPTH - 1}.{name}"].grad
        assert torch.allclose(gradient, expected, atol=1e-5 * float(expected.abs().max()), rtol=0), name


@pytest.mark.parametrize(
    "wrap",
    [
        lambda weights: {"teacher": weights, "student": random_weights(seed=9), "epoch": 100},
        lambda weights: {"student": weights},
        lambda weights: {"state_dict": weights},
        lambda weights: {f"module.{name}": tensor for name, tensor in weights.items()},
        lambda weights: {"teacher": {f"backbone.{name}": tensor for name, tensor in weights.items()}},
        lambda weights: {"student": {f"module.backbone.{name}": tensor for name, tensor in weights.items()}},
        lambda weights: {**weights, "head.mlp.0.weight": torch.zeros(3, 3), "head.last_layer.weight_g": torch.ones(3)},
        lambda weights: {"teacher": weights, "args": argparse.Namespace(arch="vit_base", lr=0.1)},
    ],
)
def test_checkpoints_around_the_weights(tmp_path: Path, wrap: Callable[[dict[str, Tensor]], object]) -> None:
    wrapped = load_backbone(saved(tmp_path / "wrapped.pth", wrap(random_weights())), image_size=32)
    images = random_images(1, 3, 32, 32)
    with torch.no_grad():
        assert torch.allclose(wrapped(images), dino_features(random_weights(), images), atol=1e-5)


def test_half_precision_weights_are_computed_in_full(tmp_path: Path) -> None:
    halved = {name: tensor.half() for name, tensor in random_weights().items()}
    backbone = load_backbone(saved(tmp_path / "half.pth", halved), image_size=32)
    images = random_images(1, 3, 32, 32)
    full = {name: tensor.float() for name, tensor in halved.items()}
    with torch.no_grad():
        assert torch.allclose(backbone(images), dino_features(full, images), atol=1e-5)


def without(name: str) -> dict[str, Tensor]:
    return {key: tensor for key, tensor in random_weights().items() if key != name}


class Harmful:
    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return print, ("code was run",)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (without("pos_embed"), "no pos_embed"),
        (without("blocks.1.attn.qkv.weight"), "no blocks.1.attn.qkv.weight"),
        (without("blocks.0.norm2.bias"), "no blocks.0.norm2.bias"),
        ({**random_weights(), "blocks.0.ls1.gamma": torch.ones(DIM)}, "DINOv2's layout"),
        ({**random_weights(), "blocks.1.mlp.fc1.weight": torch.ones(3, DIM)}, "does not fit"),
        ({**random_weights(), "pos_embed": torch.ones(1, 16, DIM)}, "16 positions"),
        ([1, 2, 3], "no state dict"),
        ({"epoch": 3}, "no patch_embed.proj.weight"),
        ({"weights": Harmful()}, "cannot be read"),
    ],
)
def test_files_that_are_not_dinos(
    tmp_path: Path, content: object, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    path = saved(tmp_path / "odd.pth", content)
    with pytest.raises(UserError, match=said) as caught:
        load_backbone(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    assert "code was run" not in capfd.readouterr().out


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", pickle.dumps({"a": 1})[:-3]])
def test_damaged_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "damaged.pth"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"damaged\.pth cannot be read") as caught:
        load_backbone(path)
    assert "\n" not in str(caught.value)


def test_a_cut_off_download(tmp_path: Path) -> None:
    path = saved(tmp_path / "cut.pth", random_weights())
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(UserError, match="cannot be read"):
        load_backbone(path)


def test_sizes_and_blocks_are_checked(tmp_path: Path) -> None:
    path = saved(tmp_path / "dino.pth", random_weights())
    with pytest.raises(UserError, match="multiples of 8"):
        load_backbone(path, image_size=30)
    for train_blocks in (0, 3, -1):
        with pytest.raises(UserError, match="1 to 2"):
            load_backbone(path, image_size=32, train_blocks=train_blocks)
    with pytest.raises(UserError, match="multiples of 8"):
        load_backbone(path, image_size=32).trunk(torch.zeros(1, 3, 32, 36))


def test_fingerprint_separates_weights_and_layouts(tmp_path: Path) -> None:
    one = load_backbone(saved(tmp_path / "one.pth", random_weights()), image_size=32).fingerprint()
    weights = random_weights()
    weights["blocks.0.attn.qkv.bias"][DIM] += 1e-4
    other = load_backbone(saved(tmp_path / "other.pth", weights), image_size=32).fingerprint()
    again = load_backbone(saved(tmp_path / "again.pth", {"teacher": random_weights()}), image_size=32).fingerprint()
    assert one == again
    assert one != other
