"""What a backbone's name may be, and the one line a user gets where it cannot work."""

import json
import logging
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import huggingface_hub
import pytest
import torch
from tiny_backbones import save_tiny

from legogcd.errors import UserError
from legogcd.methods import default_recipe
from legogcd.vision.backbones import FAMILIES, KNOWN_BACKBONES, Family, family_defaults, family_of, load_backbone
from legogcd.vision.backbones import hub as hub_module

HINT = "--backbone efficientnet-lite0 works offline"


def one_line(load: Callable[[], object]) -> str:
    with pytest.raises(UserError) as caught:
        load()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    cache = tmp_path / "hub"
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(huggingface_hub.file_download, "HF_HUB_CACHE", str(cache), raising=False)
    return cache


def answering(monkeypatch: pytest.MonkeyPatch, error: Exception) -> list[str]:
    """Let the hub answer every question with an error; returns the names it was asked about."""
    asked: list[str] = []

    def model_info(_: object, name: str, **__: object) -> None:
        asked.append(name)
        raise error

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", model_info)
    return asked


def hub_error(kind: type[Exception]) -> Exception:
    error = kind.__new__(kind)
    error.args = ("first line\nsecond line",)
    return error


def test_hub_out_of_reach(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    asked = answering(monkeypatch, ConnectionError("[Errno -2] Name or service not known\nand more"))
    begin = time.monotonic()
    said = one_line(lambda: load_backbone("facebook/dino-vitb16"))
    assert "facebook/dino-vitb16" in said
    assert "out of reach" in said
    assert HINT in said
    assert len(asked) == 1, "asked once, not again and again"
    assert time.monotonic() - begin < 30
    assert capfd.readouterr() == ("", "")


def test_offline_mode_is_out_of_reach_too(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, huggingface_hub.errors.OfflineModeIsEnabled("offline mode is enabled"))
    assert HINT in one_line(lambda: load_backbone("facebook/dino-vitb16"))


def test_id_that_does_not_exist(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, hub_error(huggingface_hub.errors.RepositoryNotFoundError))
    said = one_line(lambda: load_backbone("facebook/dino-vitb61"))
    assert "no model 'facebook/dino-vitb61'" in said
    assert HINT in said


def test_gated_model(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, hub_error(huggingface_hub.errors.GatedRepoError))
    assert "accept its terms" in one_line(lambda: load_backbone("facebook/dinov3-vitb16-pretrain-lvd1689m"))


@pytest.mark.parametrize("name", ["not a name", "efficientnet lite0", "a--b/c", "what?"])
def test_names_that_cannot_be_ids(empty_cache: Path, name: str) -> None:
    said = one_line(lambda: load_backbone(name))
    assert f"unknown backbone {name!r}" in said
    assert HINT in said


@pytest.mark.parametrize("name", ["missing.pth", "models/missing.pt", "./folder", "~/folder", "/no/such/folder", ""])
def test_paths_that_are_not_there_never_reach_the_hub(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    asked = answering(monkeypatch, AssertionError())
    assert "no such file or folder" in one_line(lambda: load_backbone(name))
    assert not asked


def test_a_file_that_is_no_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"")
    assert "not a .pth file or a model folder" in one_line(lambda: load_backbone(tmp_path / "model.onnx"))


class Repository:
    """A hub with one model, served from a folder into the cache as the real one would be."""

    def __init__(self, source: Path, cache: Path) -> None:
        self.source, self.cache, self.downloads = source, cache, list[str]()
        self.commit = "0" * 40

    def model_info(self, name: str, **_: object) -> huggingface_hub.ModelInfo:
        files = [{"rfilename": path.name} for path in self.source.iterdir()]
        return huggingface_hub.ModelInfo(id=name, siblings=files)

    def hf_hub_download(self, name: str, file: str) -> str:
        home = self.cache / f"models--{name.replace('/', '--')}"
        (home / "refs").mkdir(parents=True, exist_ok=True)
        (home / "refs" / "main").write_text(self.commit)
        if not (self.source / file).exists():
            (home / ".no_exist" / self.commit).mkdir(parents=True, exist_ok=True)
            (home / ".no_exist" / self.commit / file).touch()
            raise hub_error(huggingface_hub.errors.RemoteEntryNotFoundError)
        target = home / "snapshots" / self.commit / file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((self.source / file).read_bytes())
        self.downloads.append(file)
        return str(target)


@pytest.mark.parametrize("processor", [True, False])
@pytest.mark.parametrize("sharded", [True, False])
def test_hub_models_are_downloaded_once(
    tmp_path: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch, processor: bool, sharded: bool
) -> None:
    source = save_tiny(tmp_path / "source", "vit")
    if sharded:
        split_in_two(source)
    if processor:
        (source / "preprocessor_config.json").write_text(json.dumps({"image_mean": [0.5] * 3, "image_std": [0.5] * 3}))
    repository = Repository(source, empty_cache)
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", repository.model_info)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", repository.hf_hub_download)
    first = load_backbone("someone/tiny-vit", image_size=32)
    assert first.name == "someone/tiny-vit"
    assert first.mean == ((0.5,) * 3 if processor else (0.485, 0.456, 0.406))
    assert first.fingerprint() == load_backbone(source, image_size=32).fingerprint()

    downloads = list(repository.downloads)
    answering(monkeypatch, AssertionError("the cache is whole: nothing to ask"))
    assert load_backbone("someone/tiny-vit", image_size=32).fingerprint() == first.fingerprint()
    assert repository.downloads == downloads


def split_in_two(folder: Path) -> None:
    """Save the weights as two shards and an index."""
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(weights)
    shards = {"model-1.safetensors": names[::2], "model-2.safetensors": names[1::2]}
    for shard, held in shards.items():
        save_file({name: weights[name] for name in held}, folder / shard, metadata={"format": "pt"})
    index = {"metadata": {}, "weight_map": {name: shard for shard, held in shards.items() for name in held}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def test_a_half_filled_cache_asks_the_hub(tmp_path: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = Repository(save_tiny(tmp_path / "source", "vit"), empty_cache)
    asked = answering(monkeypatch, ConnectionError("no route"))
    for file in ("config.json", "model.safetensors"):  # then only the normalization is unknown
        repository.hf_hub_download("someone/tiny-vit", file)
        assert "not whole in the local cache" in one_line(lambda: load_backbone("someone/tiny-vit"))
    assert asked == ["someone/tiny-vit"] * 2
    (repository.source / "preprocessor_config.json").write_text("{}")
    repository.hf_hub_download("someone/tiny-vit", "preprocessor_config.json")
    load_backbone("someone/tiny-vit", image_size=32)
    assert len(asked) == 2


def test_a_hub_model_without_weights(tmp_path: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = save_tiny(tmp_path / "source", "vit")
    (source / "model.safetensors").unlink()
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", Repository(source, empty_cache).model_info)
    assert "no weights" in one_line(lambda: load_backbone("someone/tiny-vit"))


def test_a_download_that_breaks_off(tmp_path: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = Repository(save_tiny(tmp_path / "source", "vit"), empty_cache)
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", repository.model_info)

    def broken(name: str, file: str) -> str:
        raise OSError("connection reset\nby peer")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", broken)
    said = one_line(lambda: load_backbone("someone/tiny-vit"))
    assert "could not be downloaded (connection reset)" in said
    assert HINT in said


def change(folder: Path, **settings: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **settings}))


@pytest.mark.parametrize("model_type", ["resnet", "swin", "siglip_vision_model", "bert", None])
def test_models_without_a_cls_token(tmp_path: Path, model_type: str | None) -> None:
    folder = save_tiny(tmp_path, "vit")
    change(folder, model_type=model_type)
    said = one_line(lambda: load_backbone(folder))
    assert "CLS token" in said
    assert "dinov2" in said


def test_folders_that_lack_something(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "has no config.json" in one_line(lambda: load_backbone(tmp_path / "empty"))
    folder = save_tiny(tmp_path / "vit", "vit")
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    assert "cannot be loaded" in one_line(lambda: load_backbone(folder, image_size=32))
    (folder / "model.safetensors").unlink()
    assert "has no weights" in one_line(lambda: load_backbone(folder, image_size=32))
    (folder / "config.json").write_text("{")
    assert "not readable JSON" in one_line(lambda: load_backbone(folder, image_size=32))


def test_weights_that_lack_something(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from safetensors.torch import load_file, save_file

    folder = save_tiny(tmp_path, "vit")
    weights = load_file(folder / "model.safetensors")
    del weights["encoder.layer.1.output.dense.bias"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    capfd.readouterr()
    assert "lacks 1 of its weights" in one_line(lambda: load_backbone(folder, image_size=32))
    change(folder, hidden_size=64)
    assert "cannot be loaded" in one_line(lambda: load_backbone(folder, image_size=32))
    assert capfd.readouterr() == ("", "")


def test_code_beside_the_weights_is_never_run(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path, "vit")
    change(folder, auto_map={"AutoModel": "evil.Model", "AutoConfig": "evil.Config"})
    (folder / "evil.py").write_text("raise SystemExit('code was run')")
    load_backbone(folder, image_size=32)
    (folder / "model.safetensors").unlink()

    class Harmful:
        def __reduce__(self) -> tuple[object, tuple[str, ...]]:
            return exec, ("raise SystemExit('code was run')",)

    torch.save({"weights": Harmful()}, folder / "pytorch_model.bin")
    assert "cannot be loaded" in one_line(lambda: load_backbone(folder, image_size=32))


def test_sizes_and_blocks_are_checked(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path, "dinov2")
    assert "multiples of 14, such as 224" in one_line(lambda: load_backbone(folder, image_size=225))
    for train_blocks in (0, 4):
        said = one_line(lambda blocks=train_blocks: load_backbone(folder, 56, blocks))
        assert f"train_blocks = {train_blocks}" in said
        assert "1 to 3" in said
    backbone = load_backbone(folder, image_size=56)
    assert "56×50 pixels" in one_line(lambda: backbone.trunk(torch.zeros(1, 3, 56, 50)))


def test_processors_that_make_no_sense(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path, "vit")
    for described in (
        {"image_mean": [0.5, 0.5], "image_std": [1, 1, 1]},
        {"image_mean": [0] * 3, "image_std": [0] * 3},
    ):
        (folder / "preprocessor_config.json").write_text(json.dumps(described))
        assert "three numbers" in one_line(lambda: load_backbone(folder, image_size=32))


def test_loading_is_silent_and_leaves_logging_as_it_was(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from transformers.utils import logging as model_log

    folder = save_tiny(tmp_path, "vit-classifier")
    capfd.readouterr()
    before = model_log.get_verbosity(), logging.getLogger("huggingface_hub").level, model_log.is_progress_bar_enabled()
    load_backbone(folder, image_size=32)
    assert capfd.readouterr() == ("", "")
    assert before == (
        model_log.get_verbosity(),
        logging.getLogger("huggingface_hub").level,
        model_log.is_progress_bar_enabled(),
    )


def test_known_backbones_are_described() -> None:
    assert KNOWN_BACKBONES[0].name == "efficientnet-lite0"
    assert KNOWN_BACKBONES[0].offline
    assert any(known.name == "facebook/dino-vitb16" and known.dim == 768 for known in KNOWN_BACKBONES)
    assert all(family_of(known.name) == known.family for known in KNOWN_BACKBONES)
    assert hub_module.OFFLINE_HINT == HINT


def test_a_family_brings_its_names_and_its_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, int, int]] = []
    family = Family(
        "swirl",
        recognizes=lambda name: name.startswith("swirl-"),
        load=lambda *given: made.append(given),
        known=(),
        photo_defaults={"epochs": 7},
    )
    monkeypatch.setitem(FAMILIES, "swirl", family)
    assert family_of("swirl-2") == "swirl"
    load_backbone("swirl-2", 96, 3)
    assert made == [("swirl-2", 96, 3)]
    assert default_recipe("legogcd", "swirl").epochs == 7
    assert [family_of(name) for name in ("efficientnet-lite0", "swirl", "some/model")] == ["efficientnet", "vit", "vit"]


def test_an_unknown_family_is_one_line() -> None:
    assert "unknown family of backbones 'resnet'; there are: efficientnet, joined, vit" in one_line(
        lambda: family_defaults("resnet")
    )
    assert {name: family.photo_epochs for name, family in FAMILIES.items()} == {
        "efficientnet": 15,
        "joined": 15,
        "vit": 30,
    }


def test_the_built_in_backbone_needs_no_transformers() -> None:
    code = (
        "import sys; from legogcd.vision import load_backbone; load_backbone('efficientnet-lite0', image_size=64); "
        "print(any(name.split('.')[0] == 'transformers' for name in sys.modules))"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert child.stdout.strip() == "False", child.stderr[-2000:]
