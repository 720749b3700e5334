"""The loop over kept views: fetching ahead changes nothing, and nothing is read off the device between two epochs."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from legogcd.collection import find_images, from_folders
from legogcd.methods import ParametricRecipe, build_method
from legogcd.methods.parametric import Parametric
from legogcd.run.runtime import open_runtime
from legogcd.training import loop
from legogcd.training.loop import LabelledViews, Learner, train
from legogcd.training.optimizer import build_optimizer
from legogcd.vision import Encoder, KeptViews, ViewRequest, encode_missing, load_backbone

RECIPE = ParametricRecipe(epochs=2, batch_size=8, learning_rate=0.02, projector_hidden=16, projector_out=8)


def kept_views(tiny_vit: Path, pictures: Path, cache: Path, dtype: str = "bf16") -> KeptViews:
    encoder = Encoder(load_backbone(str(tiny_vit), image_size=32), torch.device("cpu"), "fp32")
    return encode_missing(ViewRequest(encoder, find_images(pictures), views=3, dtype=dtype), cache)


def trained(
    source: KeptViews, tiny_vit: Path, pictures: Path, recipe: ParametricRecipe = RECIPE
) -> tuple[Learner, list[dict[str, Any]]]:
    """Two epochs from the same start."""
    torch.manual_seed(0)
    backbone, method = load_backbone(str(tiny_vit), image_size=32), build_method("legogcd", 32, 4, 2, recipe)
    labels = torch.from_numpy(from_folders(find_images(pictures), ["blue", "green"])[0].labels)
    learner = Learner(backbone.tail, method, open_runtime("cpu", "fp32"))
    views = LabelledViews(source, torch.arange(len(labels)), labels)
    metrics: list[dict[str, Any]] = []
    train(learner, views, build_optimizer(backbone.tail, method, recipe), recipe, seed=0, after_epoch=metrics.append)
    return learner, metrics


def parameters(learner: Learner) -> list[Tensor]:
    return [*learner.tail.state_dict().values(), *learner.method.state_dict().values()]


@pytest.mark.parametrize("dtype", ["bf16", "int8"])
def test_fetching_ahead_changes_no_bit(
    tiny_vit: Path, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    source = kept_views(tiny_vit, pictures, tmp_path / "cache", dtype)
    one, metrics = trained(source, tiny_vit, pictures)
    monkeypatch.setattr(loop, "ahead", lambda items: items)
    other, others_metrics = trained(source, tiny_vit, pictures)
    assert metrics == others_metrics
    assert all(torch.equal(ours, plain) for ours, plain in zip(parameters(one), parameters(other), strict=True))


def test_a_step_over_kept_views_is_the_step_over_copies_of_them(
    tiny_vit: Path, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = kept_views(tiny_vit, pictures, tmp_path / "cache")
    one, _ = trained(source, tiny_vit, pictures)
    states = KeptViews.states
    monkeypatch.setattr(
        KeptViews,
        "states",
        lambda self, rows, slots: tuple(
            part if isinstance(part, Tensor) else part.dense().requires_grad_() for part in states(self, rows, slots)
        ),
    )
    other, _ = trained(source, tiny_vit, pictures)
    for ours, plain in zip(parameters(one), parameters(other), strict=True):
        torch.testing.assert_close(ours, plain, atol=1e-5, rtol=1e-4)


def test_a_method_that_settles_gets_the_mean_direction_of_all_kept_views(
    tiny_vit: Path, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, given = kept_views(tiny_vit, pictures, tmp_path / "cache"), []
    monkeypatch.setattr(Parametric, "settles", lambda _, n_images: True)
    monkeypatch.setattr(Parametric, "finish", lambda _, features, labels, seed: given.append((features, labels)))
    learner, _ = trained(source, tiny_vit, pictures)
    ((features, labels),) = given  # once, after the last epoch
    rows = torch.arange(len(labels))
    with torch.no_grad():
        each = [learner.tail(source.states(rows, torch.full_like(rows, slot))) for slot in range(1 + source.n_views)]
    expected = torch.stack([torch.nn.functional.normalize(view, dim=-1) for view in each]).mean(0)
    torch.testing.assert_close(torch.from_numpy(features), expected)


class Reads(TorchDispatchMode):
    """Counts the numbers that leave their tensor: each waits for the device."""

    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += function is torch.ops.aten._local_scalar_dense.default
        return function(*args, **(kwargs or {}))


def test_numbers_are_read_at_the_end_of_an_epoch_only(tiny_vit: Path, pictures: Path, tmp_path: Path) -> None:
    source, counts = kept_views(tiny_vit, pictures, tmp_path / "cache"), []
    for batch_size in (16, 4):
        with Reads() as reads:
            _, metrics = trained(source, tiny_vit, pictures, RECIPE.with_settings({"batch_size": batch_size}))
        assert len(metrics[0]["selected_by_step"]) == 32 // batch_size
        counts.append(reads.count)
    assert 0 < counts[0] == counts[1]
