"""Kept views equal what the trunk makes of the views, are reused, rebuilt and completed when they should be."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from torch import Tensor

from legogcd.collection import find_images
from legogcd.errors import UserError
from legogcd.vision import Encoder, FreshViews, KeptViews, ViewRequest, encode_missing, load_backbone
from legogcd.vision.views import request as request_module
from legogcd.vision.views import shards as shards_module
from legogcd.vision.views.draw import ViewRule, evaluation_view, load_resized, normalize, random_view
from legogcd.vision.views.rows import Rows
from legogcd.vision.views.sealed import MANIFEST, write_sealed
from legogcd.vision.views.shards import Layout, writing
from legogcd.vision.views.tensor_format import StoredTensor, stored_as

CPU = torch.device("cpu")


@pytest.fixture
def encoder(tiny_vit: Path) -> Encoder:
    return Encoder(load_backbone(str(tiny_vit), image_size=32), CPU, "fp32")


def built_rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows that get encoded from now on."""
    rows: list[int] = []
    crop = ViewRequest.crop
    monkeypatch.setattr(ViewRequest, "crop", lambda self, row, image: rows.append(row) or crop(self, row, image))
    return rows


def test_the_view_rule_is_the_papers_at_224() -> None:
    assert ViewRule(224).resize == 256


def test_views_are_crops_of_the_resized_image() -> None:
    image, rule = np.random.default_rng(0).integers(0, 255, (40, 60, 3), np.uint8), ViewRule(32)
    windows = {
        image[top : top + 32, left : left + 32][:, ::step].tobytes()
        for top in range(9)
        for left in range(29)
        for step in (1, -1)
    }
    random = np.random.default_rng(1)
    views = [random_view(image, rule, random).tobytes() for _ in range(50)]
    assert set(views) <= windows
    assert len(set(views)) > 30
    np.testing.assert_array_equal(evaluation_view(image, rule), image[4:36, 14:46])


def test_normalization_is_mean_and_std_over_unit_pixels() -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (2, 4, 4, 3), np.uint8)
    mean, std = (0.5, 0.25, 0.1), (0.5, 0.2, 0.4)
    expected = ((pixels / 255 - np.array(mean)) / np.array(std)).transpose(0, 3, 1, 2)
    np.testing.assert_allclose(normalize(pixels, mean, std).numpy(), expected, atol=1e-5)


def values(part: Tensor | Rows) -> Tensor:
    """A state's part as training reads it."""
    return part.dense() if isinstance(part, Rows) else part


@pytest.mark.parametrize("dtype", ["bf16", "fp16", "fp32", "int8"])
def test_kept_states_are_the_trunks_output(encoder: Encoder, pictures: Path, tmp_path: Path, dtype: str) -> None:
    images = find_images(pictures)
    request = ViewRequest(encoder, images, views=3, dtype=dtype)
    kept = encode_missing(request, tmp_path / "cache")
    for row in (0, 7, 31):
        views = request.crop(row, load_resized(images.item(row), encoder.rule))
        plain = encoder.backbone.trunk(normalize(views, encoder.backbone.mean, encoder.backbone.std))
        stored = kept.states(torch.full((4,), row), torch.arange(4))
        for name, have, want, half in zip(
            encoder.backbone.state_names, stored, plain, encoder.backbone.half, strict=True
        ):
            expected = stored_as(want, dtype if half else "fp32")
            assert values(have).dtype == expected.dtype, name
            assert isinstance(have, Rows) == half, name  # what is large is not copied
            atol = 2e-2 if half else 1e-5
            torch.testing.assert_close(values(have).float(), expected.float(), atol=atol, rtol=1e-2)


@settings(max_examples=25, deadline=None)
@given(dim=st.integers(1, 9), scale=st.sampled_from([1e-30, 1.0, 1e30]), seed=st.integers(0, 99))
def test_an_int8_number_is_within_half_a_step_of_its_value(dim: int, scale: float, seed: int) -> None:
    tokens = torch.randn(4, 3, dim, generator=torch.Generator().manual_seed(seed)) * scale
    tokens[0, 0] = 0
    largest = tokens.abs().amax(-1, keepdim=True)
    assert ((stored_as(tokens, "int8") - tokens).abs() <= largest / 127 * 0.501).all()
    tensor = StoredTensor("tokens", (3, dim), "int8")
    numbers, scales = tensor.unpacked(torch.from_numpy(tensor.packed(tokens)).unflatten(1, (3, -1)))
    assert torch.equal(Rows(numbers, torch.arange(4), scales).dense(), stored_as(tokens, "int8"))


def test_int8_takes_half_the_disk_of_bf16(encoder: Encoder, pictures: Path) -> None:
    images = find_images(pictures)
    half, whole = (ViewRequest(encoder, images, views=2, dtype=dtype).tensors[1] for dtype in ("int8", "bf16"))
    assert half.bytes_per_view == whole.bytes_per_view // 2 + 4 * whole.shape[0]  # and a scale a token


def test_an_unknown_way_to_keep_is_one_line(encoder: Encoder, pictures: Path) -> None:
    with pytest.raises(UserError, match=r"'int4'; there are: bf16, fp16, fp32, int8"):
        ViewRequest(encoder, find_images(pictures), views=2, dtype="int4")


def test_views_far_beyond_memory_can_be_opened(tmp_path: Path) -> None:
    """Hundreds of gigabytes that take no disk: only what is looked at is read."""
    tensors = StoredTensor("cls", (8,), "fp32"), StoredTensor("tokens", (200, 768), "int8")
    layout = Layout(tensors, held=9, n_images=200_000, shard_images=2000)
    for shard in layout.shards():
        with writing(tmp_path, layout, shard):
            pass  # zeros
    write_sealed(tmp_path / MANIFEST, layout.described())
    tokens = KeptViews(tmp_path).pair(torch.tensor([layout.n_images - 1]), torch.Generator())[1]
    assert not tokens.dense().any()


def test_the_size_is_said_before_it_is_written(encoder: Encoder, pictures: Path, tmp_path: Path) -> None:
    request = ViewRequest(encoder, find_images(pictures), views=2)
    kept = encode_missing(request, tmp_path)
    assert request.size_on_disk == sum(path.stat().st_size for path in kept.folder.glob("*.bin"))


def test_a_pair_is_two_different_views_of_each_image(encoder: Encoder, pictures: Path, tmp_path: Path) -> None:
    kept = encode_missing(ViewRequest(encoder, find_images(pictures), views=3), tmp_path)
    rows = torch.tensor([3, 3, 9])
    seen = set()
    for seed in range(40):
        tokens = values(kept.pair(rows, torch.Generator().manual_seed(seed))[1])
        every = [values(kept.states(rows, torch.full((3,), slot))[1]) for slot in range(4)]
        for place in range(3):
            slots = [
                next(slot for slot in range(4) if torch.equal(view[place], every[slot][place]))
                for view in tokens.unflatten(0, (2, 3))
            ]
            assert 0 not in slots  # the evaluation view is not for training
            assert slots[0] != slots[1]
            seen.add(tuple(slots))
    assert len(seen) == 6


def test_kept_views_are_reused(
    encoder: Encoder, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = encode_missing(ViewRequest(encoder, find_images(pictures), views=2), tmp_path)
    rows = built_rows(monkeypatch)
    again = encode_missing(ViewRequest(encoder, find_images(pictures), views=2), tmp_path)
    assert rows == []
    assert again.folder == first.folder


@pytest.mark.parametrize("change", ["image", "name", "views", "seed", "dtype", "size", "blocks", "weights", "way"])
def test_anything_that_changes_leads_to_other_kept_views(
    encoder: Encoder, pictures: Path, tmp_path: Path, tiny_vit: Path, change: str
) -> None:
    before = ViewRequest(encoder, find_images(pictures), views=2).key
    chosen = {"views": 2, "seed": 0, "dtype": "bf16"}
    if change == "image":
        Image.new("RGB", (40, 40), "white").save(pictures / "red" / "00.png")
    elif change == "name":
        (pictures / "red" / "00.png").rename(pictures / "red" / "first.png")
    elif change == "size":
        encoder = Encoder(load_backbone(str(tiny_vit), image_size=48), CPU, "fp32")
    elif change == "blocks":
        encoder = Encoder(load_backbone(str(tiny_vit), image_size=32, train_blocks=2), CPU, "fp32")
    elif change == "weights":
        from transformers import ViTModel

        model = ViTModel.from_pretrained(tiny_vit, add_pooling_layer=False)
        with torch.no_grad():
            model.embeddings.cls_token[0, 0, 0] += 1e-3
        model.save_pretrained(tmp_path / "changed")
        encoder = Encoder(load_backbone(str(tmp_path / "changed"), image_size=32), CPU, "fp32")
    elif change == "way":  # another way to compute the same numbers, up to their last digits
        encoder.backbone.trunk.revision = 2
    else:
        chosen[change] = {"views": 3, "seed": 1, "dtype": "fp16"}[change]
    assert ViewRequest(encoder, find_images(pictures), **chosen).key != before


def test_an_interrupted_build_goes_on_and_ends_with_the_same_bytes(
    encoder: Encoder, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_module, "BATCH_VIEWS", 12)
    monkeypatch.setattr(shards_module, "SHARD_IMAGES", 8)
    (pictures / "red" / "03.png").write_bytes(b"broken")
    request = ViewRequest(encoder, find_images(pictures), views=2)
    whole = encode_missing(request, tmp_path / "whole")

    def stop(done: int) -> None:
        if done >= 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode_missing(request, tmp_path / "cut", stop)
    rows = built_rows(monkeypatch)
    completed = encode_missing(request, tmp_path / "cut")
    assert min(rows) >= 8  # what was saved is not encoded again
    for file in sorted(whole.folder.iterdir()):
        assert (completed.folder / file.name).read_bytes() == file.read_bytes(), file.name
    assert sorted(path.name for path in completed.folder.iterdir()) == sorted(p.name for p in whole.folder.iterdir())


def test_unreadable_images_are_named_and_the_others_unharmed(encoder: Encoder, pictures: Path, tmp_path: Path) -> None:
    good = encode_missing(ViewRequest(encoder, find_images(pictures), views=2), tmp_path / "good")
    (pictures / "green" / "02.png").write_bytes(b"")
    images = find_images(pictures)
    kept = encode_missing(ViewRequest(encoder, images, views=2), tmp_path / "bad")
    bad = images.names.index("green/02.png")
    assert kept.unreadable == {bad: "empty file"}
    others = torch.tensor([row for row in range(len(images)) if row != bad])
    for one, other in zip(good.evaluation(others), kept.evaluation(others), strict=True):
        torch.testing.assert_close(values(one), values(other))


def test_a_manifest_names_what_was_kept_and_nothing_can_run(encoder: Encoder, pictures: Path, tmp_path: Path) -> None:
    kept = encode_missing(ViewRequest(encoder, find_images(pictures), views=2), tmp_path)
    manifest = json.loads((kept.folder / "manifest.json").read_text())
    assert {"backbone", "weights", "images", "views", "seed", "image_size", "train_blocks"} <= set(manifest)
    assert sorted(path.name for path in kept.folder.iterdir()) == ["00000.bin", "00000.json", "manifest.json"]
    assert isinstance(KeptViews(kept.folder), KeptViews)


def test_one_view_is_refused(encoder: Encoder, pictures: Path) -> None:
    with pytest.raises(UserError, match="two different views"):
        ViewRequest(encoder, find_images(pictures), views=1)


def test_a_cache_that_cannot_be_written_is_one_line(encoder: Encoder, pictures: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot keep views in .*give another folder with --cache"):
        encode_missing(ViewRequest(encoder, find_images(pictures), views=2), tmp_path / "file")


def test_fresh_views_are_new_every_time_and_repeat_with_the_generator(encoder: Encoder, pictures: Path) -> None:
    fresh = FreshViews(encoder, find_images(pictures))
    rows = torch.tensor([5, 20])
    once, again, other = (fresh.pair(rows, torch.Generator().manual_seed(seed))[1] for seed in (0, 0, 1))
    assert once.shape[0] == 4
    assert torch.equal(once, again)
    assert not torch.equal(once, other)


def test_fresh_evaluation_equals_the_kept_one(encoder: Encoder, pictures: Path, tmp_path: Path) -> None:
    images = find_images(pictures)
    kept = encode_missing(ViewRequest(encoder, images, views=2, dtype="fp32"), tmp_path)
    rows = torch.tensor([0, 9, 31])
    for one, other in zip(FreshViews(encoder, images).evaluation(rows), kept.evaluation(rows), strict=True):
        torch.testing.assert_close(values(one), values(other), atol=1e-5, rtol=1e-5)


def test_an_image_that_disappears_under_fresh_views_is_named(encoder: Encoder, pictures: Path) -> None:
    images = find_images(pictures)
    (pictures / "blue" / "00.png").unlink()
    with pytest.raises(UserError, match=r"blue/00\.png can no longer be read"):
        FreshViews(encoder, images).evaluation(torch.tensor([0]))


def test_more_kept_views_serve_a_run_that_wants_fewer(
    encoder: Encoder, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = find_images(pictures)
    alone = encode_missing(ViewRequest(encoder, images, 2), tmp_path / "alone")
    encode_missing(ViewRequest(encoder, images, 5), tmp_path / "more")
    encoded = built_rows(monkeypatch)
    found = encode_missing(ViewRequest(encoder, images, 2), tmp_path / "more")
    assert encoded == []
    assert found.n_views == 2
    rows = torch.arange(len(images))
    for own, other in (
        (alone.evaluation(rows), found.evaluation(rows)),
        *((kept.pair(rows, torch.Generator().manual_seed(seed)) for kept in (alone, found)) for seed in range(5)),
    ):
        for one, two in zip(own, other, strict=True):
            one, two = (part.dense() if isinstance(part, Rows) else part for part in (one, two))
            torch.testing.assert_close(one.float(), two.float(), rtol=1e-2, atol=1e-2)  # bf16, another batch
    encode_missing(ViewRequest(encoder, images, 6), tmp_path / "more")
    assert encoded != []  # fewer serve no run that wants more
