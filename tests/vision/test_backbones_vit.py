"""Trunk and tail of a vision transformer are the plain model's computation, and its gradients, to rounding."""

import json
from pathlib import Path

import pytest
import torch
from tiny_backbones import KINDS, Plain, save_tiny
from torch import Tensor

from legogcd.vision.backbones import load_backbone
from legogcd.vision.views.rows import Rows


def random_images(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def assert_close(ours: Tensor, plain: Tensor, what: str) -> None:
    """To 1e-5, and to 1e-5 of the largest value where all are small."""
    ours, plain = ours.detach(), plain.detach()
    allowed = 1e-5 * float(plain.abs().max().clamp(1e-2, 1.0))
    assert float((ours - plain).abs().max()) <= allowed, what


@pytest.mark.parametrize("train_blocks", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_features_and_gradients_are_the_plain_models(tmp_path: Path, kind: str, train_blocks: int) -> None:
    folder = save_tiny(tmp_path, kind)
    side = 56 if kind == "dinov2" else 32
    backbone = load_backbone(str(folder), image_size=side, train_blocks=train_blocks).train()
    plain = Plain(folder, kind, train_blocks)
    images = random_images(3, 3, side, side)
    features, expected = backbone(images), plain(images)
    assert features.shape == (3, backbone.dim)
    assert_close(features, expected, "features")

    direction = random_images(*features.shape)
    gradients = plain.gradients(expected, direction)
    (features * direction).sum().backward()
    ours = dict(backbone.tail.blocks.named_parameters())
    assert set(ours) == set(gradients)
    for name, parameter in ours.items():
        if name.endswith("k_proj.bias") and "dinov3" not in kind:  # adds the same to every score: only rounding is left
            assert float(gradients[name].abs().max()) < 1e-5, name
            assert parameter.grad is None or float(parameter.grad.abs().max()) < 1e-5, name
        else:
            assert_close(parameter.grad, gradients[name], name)


def assert_same_in_float64(ours: Tensor, plain: Tensor, what: str) -> None:
    assert ours.dtype == plain.dtype == torch.float64, what
    assert float((ours - plain).detach().abs().max()) <= 1e-12 * float(plain.detach().abs().max().clamp(1e-2)), what


@pytest.mark.parametrize("train_blocks", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_float64_passes_through(tmp_path: Path, kind: str, train_blocks: int) -> None:
    """No step in between is rounded to float32: output and gradients are the plain model's to twelve digits."""
    folder, side = save_tiny(tmp_path, kind), 56 if kind == "dinov2" else 32
    backbone = load_backbone(str(folder), image_size=side, train_blocks=train_blocks).double()
    plain = Plain(folder, kind, train_blocks)
    plain.model.double()
    images = random_images(3, 3, side, side).double()
    features, expected = backbone(images), plain(images)
    assert_same_in_float64(features, expected, "features")
    direction = random_images(*features.shape).double()
    gradients = plain.gradients(expected, direction)
    (features * direction).sum().backward()
    for name, parameter in backbone.tail.blocks.named_parameters():
        if parameter.grad is not None and not name.endswith("k_proj.bias"):
            assert_same_in_float64(parameter.grad, gradients[name], name)


@pytest.mark.parametrize("kind", ["vit", "dinov3_vit"])
@pytest.mark.parametrize("train_blocks", [1, 2])
def test_a_tail_in_float64_takes_states_that_were_stored_smaller(tmp_path: Path, kind: str, train_blocks: int) -> None:
    backbone = load_backbone(save_tiny(tmp_path, kind), image_size=32, train_blocks=train_blocks)
    state = backbone.trunk(random_images(3, 3, 32, 32))
    rows = tuple(
        Rows(part.bfloat16(), torch.arange(3)) if half else part
        for part, half in zip(state, backbone.half, strict=True)
    )
    values = tuple(part.dense(torch.float64) if isinstance(part, Rows) else part.double() for part in rows)
    tail = backbone.tail.double()
    assert_same_in_float64(tail(rows), tail(values), "features")


@pytest.mark.parametrize("kind", ["vit", "deit", "dinov2_with_registers", "dinov3_vit", "clip"])
def test_other_sizes_and_shapes(tmp_path: Path, kind: str) -> None:
    folder = save_tiny(tmp_path, kind)
    plain = Plain(folder, kind, 1)
    for train_blocks in (1, 2):
        backbone = load_backbone(folder, image_size=48, train_blocks=train_blocks)
        for size in ((48, 48), (16, 40), (40, 16), (16, 64)):
            images = random_images(2, 3, *size)
            with torch.no_grad():
                assert_close(backbone(images), plain(images), f"{size}, {train_blocks} blocks")


def test_views_of_different_grids_in_one_batch(tmp_path: Path) -> None:
    """DINOv3 turns keys by position: two views with the same number of patches need not have the same grid."""
    backbone = load_backbone(save_tiny(tmp_path, "dinov3_vit"), image_size=32)
    wide, tall = random_images(2, 3, 16, 64), random_images(2, 3, 64, 16)
    with torch.no_grad():
        apart = torch.cat([backbone(wide), backbone(tall)])
        mixed = tuple(torch.cat(pair) for pair in zip(backbone.trunk(wide), backbone.trunk(tall), strict=True))
        assert_close(backbone.tail(mixed), apart, "mixed grids")


def test_state_is_named_and_says_what_may_be_halved(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path / "vit", "vit")
    backbone = load_backbone(folder, image_size=32)
    assert dict(zip(backbone.state_names, backbone.half, strict=True)) == {"cls": False, "tokens": True}
    cls, tokens = backbone.trunk(random_images(2, 3, 32, 32))
    assert cls.shape == (2, 32)
    assert tokens.shape == (2, 17, 32)
    assert cls.dtype == tokens.dtype == torch.float32
    assert_close(tokens.mean(-1), torch.zeros(2, 17), "tokens are normalised")
    assert load_backbone(folder, image_size=32, train_blocks=2).state_names == ("residual",)
    rotary = load_backbone(save_tiny(tmp_path / "dinov3", "dinov3_vit"), image_size=32)
    assert rotary.state_names == ("cls", "tokens", "grid")
    assert rotary.half == (False, True, False)


@pytest.mark.parametrize("train_blocks", [1, 2, 3])
def test_only_the_tail_learns(tmp_path: Path, train_blocks: int) -> None:
    backbone = load_backbone(save_tiny(tmp_path, "dinov2", hidden_dropout_prob=0.5), 56, train_blocks).train()
    before = {name: parameter.clone() for name, parameter in backbone.named_parameters()}
    images = random_images(2, 3, 56, 56)
    first = backbone(images)
    assert torch.equal(first, backbone(images)), "training mode must not switch dropout on"
    assert not backbone.trunk.training
    state = backbone.trunk(images)
    assert not any(tensor.requires_grad for tensor in state)
    first.square().sum().backward()
    torch.optim.SGD([p for p in backbone.parameters() if p.requires_grad], lr=0.1, weight_decay=0.1).step()
    moved = {name for name, parameter in backbone.named_parameters() if not torch.equal(before[name], parameter)}
    idle = f"tail.blocks.{train_blocks - 1}.attention.k_proj.bias"
    trained = {name for name in before if name.startswith("tail.blocks.") and name != idle}
    assert moved == trained
    assert not backbone.get_parameter(idle).requires_grad, "processes that train together wait for every gradient"


def test_trunk_runs_without_gradients_even_if_asked(tmp_path: Path) -> None:
    backbone = load_backbone(save_tiny(tmp_path, "vit"), image_size=32)
    images = random_images(1, 3, 32, 32).requires_grad_()
    assert all(tensor.grad_fn is None for tensor in backbone.trunk(images))


def test_normalization_is_read_from_the_processor(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path, "vit")
    backbone = load_backbone(folder, image_size=32)
    assert backbone.mean == (0.485, 0.456, 0.406)
    assert backbone.std == (0.229, 0.224, 0.225)
    processor = folder / "preprocessor_config.json"
    processor.write_text(json.dumps({"image_mean": [0.5, 0.4, 0.3], "image_std": [0.25, 0.5, 1.0]}))
    backbone = load_backbone(folder, image_size=32)
    assert (backbone.mean, backbone.std) == ((0.5, 0.4, 0.3), (0.25, 0.5, 1.0))
    processor.write_text(json.dumps({"do_rescale": False, "image_mean": [127.5] * 3, "image_std": [51.0] * 3}))
    assert load_backbone(folder, image_size=32).mean == (0.5, 0.5, 0.5)
    assert load_backbone(folder, image_size=32).std == (0.2, 0.2, 0.2)
    processor.write_text(json.dumps({"do_normalize": False}))
    assert load_backbone(folder, image_size=32).std == (1.0, 1.0, 1.0)


def test_fingerprint_follows_the_weights(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path / "one", "vit")
    first = load_backbone(folder, image_size=32)
    again = load_backbone(str(folder), image_size=48)
    assert len(first.fingerprint()) == 64
    assert first.fingerprint() == again.fingerprint()
    with torch.no_grad():
        next(first.tail.parameters()).add_(1.0)
    assert first.fingerprint() == again.fingerprint(), "training must not change the fingerprint"
    assert load_backbone(folder, 32, train_blocks=2).fingerprint() != again.fingerprint()
    other = save_tiny(tmp_path / "other", "vit", seed=1)
    assert load_backbone(other, image_size=32).fingerprint() != again.fingerprint()


def test_fingerprint_sees_a_single_weight(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = save_tiny(tmp_path, "vit")
    before = load_backbone(folder, image_size=32).fingerprint()
    for name in ("embeddings.cls_token", "encoder.layer.2.output.dense.bias", "layernorm.weight"):
        weights = load_file(folder / "model.safetensors")
        weights[name].view(-1)[0] += 1e-3
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        after = load_backbone(folder, image_size=32).fingerprint()
        assert after != before, name
        before = after


def test_weights_saved_as_bin_load_without_unpickling_code(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path, "vit")
    expected = load_backbone(folder, image_size=32).fingerprint()
    from safetensors.torch import load_file

    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    assert load_backbone(folder, image_size=32).fingerprint() == expected


def test_half_precision_checkpoints_are_computed_in_full(tmp_path: Path) -> None:
    import transformers

    folder = save_tiny(tmp_path, "vit")
    transformers.ViTModel.from_pretrained(folder, dtype=torch.bfloat16, add_pooling_layer=False).save_pretrained(folder)
    backbone = load_backbone(folder, image_size=32)
    assert {parameter.dtype for parameter in backbone.parameters()} == {torch.float32}
