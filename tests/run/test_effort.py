"""One word for how much work a run may be: it fills in what nobody gave, and what a run records repeats it."""

from pathlib import Path
from typing import Any

import pytest

from legogcd.collection import find_images, from_folders
from legogcd.errors import UserError
from legogcd.run import Job, RunOptions, discover
from legogcd.run.arguments import check_methods, options_of
from legogcd.run.backbone_choice import with_chosen_backbone
from legogcd.run.config import read_config
from legogcd.run.options import EFFORTS

ONE_NETWORK = {"backbone": "efficientnet-lite0", "train_blocks": 1, "tail_rate": 1.0}
THREE_NETWORKS = {"backbone": "lite0+lite1+lite2", "train_blocks": 2, "tail_rate": 0.3}
SETTLING = {"settle": None, "whitened_per_class": 3, "settled_per_class": None, "settle_on": "inertia"}
WIDER = {"settled_per_class": 6, "settle_on": "agreement"}


def computed(options: RunOptions) -> dict[str, Any]:
    """What an effort decides of a run."""
    recipe, protocol = options.chosen_recipe(), options.protocol
    found = {name: getattr(protocol, name) for name in ("backbone", "train_blocks", "views")}
    return found | recipe.model_dump(include={"epochs", "tail_rate", *SETTLING})


@pytest.mark.parametrize(
    ("effort", "expected"),
    [
        ("quick", ONE_NETWORK | {"views": 2, "epochs": 5} | SETTLING),
        ("normal", ONE_NETWORK | {"views": 4, "epochs": 15} | SETTLING),
        ("thorough", THREE_NETWORKS | {"views": 4, "epochs": 15} | SETTLING | WIDER),
    ],
)
def test_an_effort_fills_in_what_nobody_gave(effort: str, expected: dict[str, Any]) -> None:
    assert computed(RunOptions(effort=effort)) == expected
    common = expected.keys() - SETTLING.keys()  # what LegoGCD has too
    assert computed(RunOptions(effort=effort, method="legogcd")) == {name: expected[name] for name in common}


@pytest.mark.parametrize("effort", EFFORTS)
def test_what_is_given_wins(effort: str) -> None:
    given = {"backbone": "efficientnet-lite1", "train_blocks": 3, "views": "fresh", "epochs": 7}
    options = RunOptions(effort=effort, settings={"settle": False, "tail_rate": 0.1}, **given)
    assert computed(options) == computed(RunOptions(effort=effort)) | given | {"settle": False, "tail_rate": 0.1}
    by_setting = RunOptions(effort=effort, settings={"epochs": 8})
    assert by_setting.chosen_recipe().epochs == 8


def test_as_many_blocks_learn_as_usual_of_a_backbone_that_the_effort_does_not_bring() -> None:
    for backbone, blocks in (("efficientnet-lite0", 1), ("some/vit", 1), ("lite0+lite1+lite2", 2)):
        assert RunOptions(effort="thorough", backbone=backbone).protocol.train_blocks == blocks
    assert RunOptions(effort="thorough", train_blocks=1).protocol.train_blocks == 1


def test_a_backbone_that_is_chosen_on_this_machine_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("legogcd.vision.backbones.hub.cached", lambda name: None)
    chosen = with_chosen_backbone(RunOptions(effort="thorough", backbone="auto", device="cpu"), lambda said: None)
    assert chosen.protocol.backbone == "efficientnet-lite0"


def test_methods_that_are_compared_see_the_same_views_and_each_takes_what_it_has() -> None:
    options = RunOptions(effort="thorough", settings={"beta": "2"})
    check_methods(["kmeans", "legogcd", "legogcd+"], options)
    kmeans, theirs, ours = (options_of(options, name) for name in ("kmeans", "legogcd", "legogcd+"))
    seen = {(each.protocol.backbone, each.protocol.train_blocks) for each in (kmeans, theirs, ours)}
    assert seen == {("lite0+lite1+lite2", 2)}
    assert theirs.settings == {"beta": "2"}
    assert ours.settings == WIDER | {"beta": "2"}  # so a table tells it from a normal one
    quick = options.changed(effort="quick")
    check_methods(["kmeans", "legogcd+"], quick)
    assert options_of(quick, "kmeans").settings.keys() == {"epochs"}
    assert options_of(quick, "legogcd+").settings == {"epochs": 5, "beta": "2"}
    with pytest.raises(UserError, match="effort thorough goes with our recipe only"):
        check_methods(["legogcd"], options.changed(recipe="paper"))


def test_what_a_run_records_is_enough_to_do_the_same_again(pictures: Path, tiny_vit: Path, tmp_path: Path) -> None:
    collection, _ = from_folders(find_images(pictures), ["blue", "green"])
    settings = {"batch_size": 16, "projector_hidden": 16, "projector_out": 8}
    options = RunOptions(n_classes=4, effort="quick", settings=settings, backbone=str(tiny_vit), image_size=32)
    outcome = discover(Job(collection, options.changed(cache=tmp_path / "cache", device="cpu")), tmp_path / "run")
    assert len(outcome.metrics) == 5
    recorded = read_config(tmp_path / "run").options
    assert (recorded.effort, recorded.views, recorded.backbone) == ("quick", 2, str(tiny_vit))
    words = list(recorded.words())
    assert words[words.index("--views") + 1] == "2"
    assert recorded.chosen_recipe().model_dump(mode="json") == outcome.config.recipe
    again = discover(Job(collection, recorded.changed(cache=tmp_path / "cache")), tmp_path / "again")
    assert again.metrics == outcome.metrics
    for name in ("config.json", "predictions.csv", "model.safetensors"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "run" / name).read_bytes()
