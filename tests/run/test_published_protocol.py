"""A published recipe brings the whole published protocol; what still differs is said once and recorded."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from legogcd.collection import find_images, from_folders
from legogcd.display import Quiet
from legogcd.methods import METHODS
from legogcd.paper.reproduce.protocol import PUBLISHED, Protocol
from legogcd.run import Job, discover
from legogcd.run.config import read_config
from legogcd.run.model import load_run
from legogcd.run.options import RunOptions
from legogcd.vision.views.draw import ViewRule, load_resized


class Heard(Quiet):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


def job(pictures: Path, tiny_vit: Path, cache: Path, **changes: object) -> Job:
    collection, _ = from_folders(find_images(pictures), ["blue", "green"])
    options = RunOptions(
        n_classes=4, backbone=str(tiny_vit), image_size=32, cache=cache, views=2, epochs=1, device="cpu", threads=1
    )
    return Job(collection, options.changed(settings={"projector_hidden": 8, "projector_out": 4}, **changes))


@pytest.mark.parametrize("recipe", ["paper", "cub", "cifar100"])
def test_a_published_recipe_holds_nothing_out_and_computes_in_fp32(recipe: str) -> None:
    assert RunOptions(recipe=recipe).protocol == (0, "fp32", "fp32", "full", "apart", "efficientnet-lite0", 1, 4)
    assert RunOptions().protocol == (0.1, "auto", "bf16", "fast", "as-one", "efficientnet-lite0", 1, 4)
    own = RunOptions(
        recipe=recipe,
        held_out=0.2,
        precision="auto",
        kept_dtype="int8",
        decode="fast",
        near_duplicates="as-one",
        backbone="a folder",
        train_blocks=2,
        views=3,
    )
    assert own.protocol == (0.2, "auto", "int8", "fast", "as-one", "a folder", 2, 3)  # what a person sets stays


def test_reproduce_has_the_published_protocol_whatever_the_hardware(tmp_path: Path) -> None:
    assert PUBLISHED.protocol == (0, "fp32", "fp32", "full", "apart", "facebook/dino-vitb16", 1, 4)
    other = Protocol(tmp_path, PUBLISHED.changed(precision="bf16"))
    assert other.setup != Protocol(tmp_path).setup  # rows of both are told apart
    assert "precision bf16" in other.setup


def test_a_run_says_in_one_line_what_differs_and_config_json_keeps_it(
    pictures: Path, tiny_vit: Path, tmp_path: Path
) -> None:
    heard, out = Heard(), tmp_path / "run"
    outcome = discover(job(pictures, tiny_vit, tmp_path / "cache", recipe="cub"), out, display=heard)
    said = [note for note in heard.notes if note.startswith("unlike the published runs: ")]
    assert len(said) == 1
    for words in ("2 kept views", "instead of DINO ViT-B/16", "32 px instead of 224", "epochs=1"):
        assert words in said[0]
    assert "held out" not in said[0]
    assert "precision" not in said[0]
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    assert said[0].endswith("; ".join(config["differs"]))
    options = config["options"]
    assert (options["held_out"], options["precision"], options["kept_dtype"], options["decode"]) == (
        0,
        "fp32",
        "fp32",
        "full",
    )
    assert outcome.model.calibration.held_out == 0
    assert load_run(out)[0].encoder.rule.full_decode


def test_our_recipe_keeps_ours_and_says_nothing(pictures: Path, tiny_vit: Path, tmp_path: Path) -> None:
    heard, out = Heard(), tmp_path / "run"
    discover(job(pictures, tiny_vit, tmp_path / "cache", recipe="default", method="simgcd"), out, display=heard)
    assert not [note for note in heard.notes if "published" in note]
    config = read_config(out)
    assert (config.differs, config.options.held_out, config.options.kept_dtype) == ((), 0.1, "bf16")
    assert not load_run(out)[0].encoder.rule.full_decode


def test_repeating_a_run_repeats_its_protocol(pictures: Path, tiny_vit: Path, tmp_path: Path) -> None:
    discover(job(pictures, tiny_vit, tmp_path / "cache", recipe="cub"), tmp_path / "run")
    words = shlex.split(" ".join(read_config(tmp_path / "run").options.words()))
    for flag, value in (("--held-out", "0.0"), ("--precision", "fp32"), ("--kept-dtype", "fp32"), ("--decode", "full")):
        assert words[words.index(flag) + 1] == value


def test_nothing_differs_with_fresh_views_on_the_published_backbone() -> None:
    options = RunOptions(recipe="cub", backbone="facebook/dino-vitb16", views="fresh")
    assert options.unlike_published("fp32") == ()
    assert options.unlike_published("bf16") == ("precision bf16",)
    assert options.changed(method="uno").unlike_published("fp32") == METHODS["uno"].departures != ()


def test_a_published_recipe_decodes_large_jpegs_in_full(pictures: Path, tiny_vit: Path, tmp_path: Path) -> None:
    """Against Pillow's plain decode and resize; the fast way is up to tens of levels away on such a picture."""
    noise = np.random.default_rng(0).integers(0, 256, (1203, 1400, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "large.jpg", quality=95)
    with Image.open(tmp_path / "large.jpg") as image:
        plain = np.asarray(image.convert("RGB").resize((int(256 * 1400 / 1203), 256), Image.Resampling.BICUBIC), int)
    full, fast = (load_resized(tmp_path / "large.jpg", ViewRule(224, full)).astype(int) for full in (True, False))
    assert full.shape == plain.shape
    assert np.abs(full - plain).max() <= 1  # rounding
    assert np.abs(fast - plain).max() > 5


def test_views_decoded_in_another_way_are_kept_apart(pictures: Path, tiny_vit: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for number, decode in enumerate(("fast", "full", "full")):
        discover(job(pictures, tiny_vit, cache, recipe="cub", decode=decode), tmp_path / f"run{number}")
    assert len(list(cache.glob("views-*"))) == 2
