"""scikit-learn's habits: fit, predict, clone, save and load, on whatever a user holds images in."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from legogcd import LegoGCD
from legogcd.errors import UserError

SETTINGS = {"projector_hidden": 32, "projector_out": 16, "batch_size": 16, "learning_rate": 0.02}


@pytest.fixture
def make(tiny_vit: Path, tmp_path: Path):
    def make_estimator(**parameters: object) -> LegoGCD:
        given = {
            "n_classes": 4,
            "backbone": str(tiny_vit),
            "epochs": 3,
            "image_size": 32,
            "views": 2,
            "settings": SETTINGS,
            "cache": tmp_path / "cache",
            "device": "cpu",
            "precision": "fp32",
        }
        return LegoGCD(**{**given, **parameters})

    return make_estimator


@pytest.fixture
def paths(pictures: Path) -> list[Path]:
    return sorted(pictures.rglob("*.png"))


@pytest.fixture
def truth(paths: list[Path]) -> list[str]:
    return [path.parent.name for path in paths]


@pytest.fixture
def labels(truth: list[str]) -> list[str | None]:
    """Every other picture of two classes."""
    return [name if name in ("blue", "green") and i % 2 == 0 else None for i, name in enumerate(truth)]


def test_paths_and_strings(make, paths, labels, truth) -> None:
    model = make().fit(paths, labels)
    assert model.classes_.tolist() == ["blue", "green", "new-001", "new-002"]
    assert model.novel_classes_.tolist() == ["new-001", "new-002"]
    assert len(model.labels_) == len(paths)
    assert all(found == given for found, given in zip(model.labels_, labels, strict=True) if given is not None)
    known = [i for i, name in enumerate(truth) if name in ("blue", "green")]
    assert [model.labels_[i] for i in known] == [truth[i] for i in known]
    assert {len({model.labels_[i] for i, name in enumerate(truth) if name == new}) for new in ("red", "yellow")} == {1}
    assert (model.predict(paths) == model.labels_).mean() > 0.9
    assert len(model.metrics_) == 3


def test_probabilities_have_a_column_a_class(make, paths, labels) -> None:
    model = make().fit(paths, labels)
    probabilities = model.predict_proba(paths[:5])
    assert probabilities.shape == (5, 4)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    assert (model.classes_[probabilities.argmax(axis=1)] == model.predict(paths[:5])).all()
    assert model.transform(paths[:5]).shape == (5, 32)


@pytest.mark.parametrize("form", ["array", "tensor", "list", "pil", "float"])
def test_images_in_memory_and_integer_labels(make, paths, truth, form: str) -> None:
    arrays = np.stack([np.asarray(Image.open(path)) for path in paths])
    images = {
        "array": arrays,
        "tensor": torch.from_numpy(arrays).permute(0, 3, 1, 2),
        "list": list(arrays),
        "pil": [Image.fromarray(array) for array in arrays],
        "float": arrays.astype(np.float32) / 255,
    }[form]
    ids = {"blue": 3, "green": 7}
    labels = np.array([ids.get(name, -1) if i % 2 == 0 else -1 for i, name in enumerate(truth)])
    model = make().fit(images, labels)
    assert model.classes_.tolist() == [3, 7, 8, 9]
    assert model.novel_classes_.tolist() == [8, 9]
    assert model.labels_.dtype.kind == "i"
    assert (model.labels_[labels >= 0] == labels[labels >= 0]).all()
    assert set(model.predict(images).tolist()) <= {3, 7, 8, 9}


def test_clone_and_get_params(make) -> None:
    model = make(method="simgcd", seed=3)
    copy = clone(model)
    assert copy is not model
    assert copy.get_params() == model.get_params()
    assert copy.set_params(seed=4).seed == 4


def test_saved_and_loaded_it_predicts_the_same(make, paths, labels, tmp_path: Path) -> None:
    model = make().fit(paths, labels)
    model.save(tmp_path / "run")
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names >= {"config.json", "metrics.jsonl", "predictions.csv", "model.safetensors", "curves.png"}
    loaded = LegoGCD.load(tmp_path / "run", device="cpu")
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.labels_.tolist() == model.labels_.tolist()
    np.testing.assert_allclose(loaded.predict_proba(paths), model.predict_proba(paths), atol=1e-5)
    assert loaded.get_params()["n_classes"] == 4


def test_integer_classes_stay_integers_through_a_file(make, paths, truth, tmp_path: Path) -> None:
    labels = [5 if name == "red" and i % 2 else -1 for i, name in enumerate(truth)]
    with pytest.warns(UserWarning, match="only one class is labelled"):
        make().fit(paths, labels).save(tmp_path / "run")
    assert LegoGCD.load(tmp_path / "run", device="cpu").classes_.tolist() == [5, 6, 7, 8]


def test_saving_never_overwrites_a_run(make, paths, labels, tmp_path: Path) -> None:
    model = make().fit(paths, labels)
    model.save(tmp_path / "run")
    before = (tmp_path / "run" / "model.safetensors").read_bytes()
    with pytest.raises(UserError, match="already holds a run"):
        model.save(tmp_path / "run")
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == before


def test_an_unreadable_image_keeps_its_place(make, paths, labels) -> None:
    paths[1].write_bytes(b"")
    with pytest.warns(UserWarning, match="1 unreadable image left out"):
        model = make().fit(paths, labels)
    assert len(model.labels_) == len(paths)
    assert model.labels_[1] is None
    assert np.isnan(model.confidence_[1])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_classes": None}, "n_classes is needed"),
        ({"n_classes": 1}, "1 classes were asked for"),
        ({"method": "nope"}, "unknown method 'nope'"),
        ({"recipe": "nope"}, "unknown recipe 'nope'"),
        ({"settings": {"nope": 1}}, "unknown setting 'nope'"),
        ({"backbone": "./nowhere"}, "no such file or folder"),
        ({"device": "tpu"}, "unknown device 'tpu'"),
    ],
)
def test_wrong_parameters_are_one_clear_line(make, paths, labels, parameters, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make(**parameters).fit(paths, labels)


def test_unfitted_it_says_so(make, paths) -> None:
    with pytest.raises(NotFittedError, match="call fit"):
        make().predict(paths)


def test_a_run_of_the_command_line_can_be_loaded(pictures, tiny_vit, tmp_path: Path, run_cli) -> None:
    done = run_cli(
        *("discover", pictures, "--labels", "folders", "--known", "blue,green", "--out", tmp_path / "run"),
        *("--backbone", tiny_vit, "--image-size", 32, "--epochs", 2, "--cache", tmp_path / "c", "--device", "cpu"),
        *("--precision", "fp32", "--set", "projector_hidden=32"),
    )
    assert done.exit_code == 0, done.stderr
    model = LegoGCD.load(tmp_path / "run", device="cpu")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert model.classes_.tolist()[:2] == config["known"] == ["blue", "green"]
    assert len(model.predict(pictures)) == 32
