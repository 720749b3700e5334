"""What scikit-learn users expect of a fitted model: copies, pickles, scores, names of features, a picture of itself."""

import copy
import pickle
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from example_pictures import write_pictures
from PIL import Image
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from legogcd import LegoGCD
from legogcd.display import Notebook, screen
from legogcd.evaluation import clustering_accuracy

SETTINGS = {"projector_hidden": 32, "projector_out": 16, "batch_size": 16, "learning_rate": 0.02}


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return sorted(write_pictures(tmp_path_factory.mktemp("habits") / "pictures").rglob("*.png"))


@pytest.fixture(scope="module")
def truth(paths: list[Path]) -> list[str]:
    return [path.parent.name for path in paths]


@pytest.fixture(scope="module")
def parameters(tiny_vit: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    on_cpu = {"device": "cpu", "precision": "fp32", "cache": tmp_path_factory.mktemp("cache")}
    return {"backbone": str(tiny_vit), "epochs": 3, "image_size": 32, "views": 2, "settings": SETTINGS, **on_cpu}


@pytest.fixture(scope="module")
def model(parameters: dict[str, Any], paths: list[Path], truth: list[str]) -> LegoGCD:
    table = pd.DataFrame({"path": list(map(str, paths)), "label": truth})
    table.loc[(table.index % 2 == 1) | ~table["label"].isin(["blue", "green"]), "label"] = None
    return LegoGCD(n_classes=4, **parameters).fit(table)


def copies(model: LegoGCD, folder: Path) -> dict[str, LegoGCD]:
    joblib.dump(model, folder / "model.joblib")
    return {
        "pickle": pickle.loads(pickle.dumps(model)),  # noqa: S301 - our own
        "joblib": joblib.load(folder / "model.joblib"),
        "copy": copy.deepcopy(model),
    }


def test_a_fitted_model_is_pickled_dumped_and_copied(model, paths, tmp_path: Path) -> None:
    expected = model.predict_proba(paths)
    for form, other in copies(model, tmp_path).items():
        np.testing.assert_allclose(other.predict_proba(paths), expected, atol=1e-6, err_msg=form)
        assert other.labels_.tolist() == model.labels_.tolist()
        assert other.get_params() == model.get_params()
    trained = sum(kept.nbytes for kept in pickle.loads(pickle.dumps(model))._packed.tensors.values())  # noqa: S301
    assert len(pickle.dumps(model)) < 2 * trained + 50_000, "neither the trunk nor the maps of its views are in it"
    other.save(tmp_path / "run")
    assert LegoGCD.load(tmp_path / "run", device="cpu").predict(paths).tolist() == model.predict(paths).tolist()


def test_other_weights_under_the_same_name_are_refused(model, tmp_path: Path) -> None:
    other = copy.deepcopy(model).set_params(backbone="efficientnet-lite0")
    with pytest.raises(ValueError, match="not those the model was trained on"):
        other.predict(np.zeros((1, 32, 32, 3), np.uint8))


def test_the_score_is_clustering_accuracy(model, paths, truth) -> None:
    place = {name: number for number, name in enumerate(["blue", "green", "red", "yellow"])}
    expected = clustering_accuracy([place[name] for name in truth], model.predict_proba(paths).argmax(axis=1), 2).all
    assert model.score(paths, truth) == pytest.approx(expected)
    assert expected > 0.6
    wrong = ["green" if name == "blue" else "blue" if name == "green" else name for name in truth]
    assert model.score(paths, wrong) == pytest.approx(expected), "the published matching is free to exchange all groups"
    assert model.score(paths[:8], [None] * 4 + truth[4:8]) == 1.0


def test_features_have_names_and_come_as_a_table(model, paths) -> None:
    features = copy.deepcopy(model).set_output(transform="pandas").transform(paths[:3])
    assert isinstance(features, pd.DataFrame)
    assert features.columns.tolist() == model.get_feature_names_out().tolist() == [f"legogcd{i}" for i in range(32)]
    np.testing.assert_allclose(features.to_numpy(), model.transform(paths[:3]), atol=1e-6)
    assert make_pipeline(model).predict(paths[:3]).tolist() == model.predict(paths[:3]).tolist()


def test_it_shows_what_it_found(model, parameters, paths) -> None:
    assert re.search(r"\n32 images: 8 labelled, \d+ found in 2 known classes, \d+ in \d new groups?$", repr(model))
    page = model._repr_html_()
    assert re.findall(r"([\w-]+)<br><small>known, 8 images", page) == ["blue", "green"]
    groups = len(set(model.labels_))
    assert page.count("<br>") == groups
    assert page.count("<img") == sum(min(8, (model.labels_ == name).sum()) for name in set(model.labels_))
    assert copy.deepcopy(model)._repr_html_() == page
    unfitted = LegoGCD(n_classes=4, **parameters)
    assert "images:" not in repr(unfitted)
    assert "sk-container" in unfitted._repr_html_()


def test_names_cannot_bring_code_into_a_notebook(parameters) -> None:
    shades = np.stack([np.full((32, 32, 3), 20 * row, np.uint8) for row in range(8)])
    labels = ["<script>alert(1)</script>", None, None, None, "b", None, None, None]
    with warnings.catch_warnings(action="ignore"):
        page = LegoGCD(n_classes=3, **parameters).fit(shades, labels)._repr_html_()
    assert "<script>" not in page


def test_progress_in_a_notebook_is_one_bar_that_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, page: Any) -> None:
            shown.append(page.data)

    def display(page: Any, display_id: bool) -> Handle:
        shown.append(f"new: {page.data}")
        return Handle()

    monkeypatch.setattr("IPython.display.display", display)
    with Notebook().counting("encoding <images>", 200) as progress:
        for done in (0, 100, 101, 200):
            progress(done)
    assert [page.startswith("new: ") for page in shown] == [True, False, False]
    assert shown[1] == '<progress value="100" max="200"></progress> encoding &lt;images&gt;: 100 of 200'
    assert type(screen()).__name__ == "Screen", "this is no notebook"


def test_importing_it_waits_for_nothing_heavy() -> None:
    program = """
import sys, threading
from legogcd import LegoGCD
assert not {"sklearn", "scipy", "pandas", "torch"} & set(sys.modules), "importing the class loads none of them"
class Mine(LegoGCD):
    def transform(self, images):
        return super().transform(images)
made = []
for thread in [threading.Thread(target=lambda: made.append(LegoGCD(n_classes=2))) for _ in range(4)]:
    thread.start(), thread.join()
from sklearn.base import BaseEstimator, TransformerMixin, clone
assert LegoGCD.__bases__ == (TransformerMixin, BaseEstimator)
assert issubclass(Mine, BaseEstimator) and Mine().set_output(transform="pandas") is not None
assert not hasattr(LegoGCD.transform.__wrapped__, "__wrapped__"), "its output is wrapped once"
import inspect
assert list(inspect.signature(LegoGCD).parameters)[0] == "n_classes"
assert clone(made[0]).get_params() == made[0].get_params()
assert not {"torch", "matplotlib", "transformers", "rich", "accelerate"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_pickle_finds_its_bases_where_nothing_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "unfitted.pickle"
    path.write_bytes(pickle.dumps(LegoGCD(n_classes=5)))
    program = f"import pickle; print(pickle.load(open({str(path)!r}, 'rb')).get_params()['n_classes'])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "5\n"


class OnVectors(LegoGCD):
    """For scikit-learn's own checks, which bring vectors: each becomes a picture of four colored squares."""

    def fit(self, images: Any, labels: Any = None) -> "OnVectors":
        if labels is not None:
            labels = np.array(labels, dtype=object)
            labels[1::2] = -1  # there must be something to discover
        return super().fit(squares(images), labels)

    def predict_proba(self, images: Any) -> np.ndarray:
        return super().predict_proba(squares(images))

    def transform(self, images: Any) -> np.ndarray:
        return super().transform(squares(images))

    def score(self, images: Any, labels: Any = None) -> float:
        return super().score(squares(images), labels)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


def squares(rows: Any) -> Any:
    if getattr(rows, "ndim", 0) != 2 or hasattr(rows, "tocsr") or rows.dtype.kind not in "fiu":
        return rows
    values = np.asarray(rows)[:, np.arange(12) % rows.shape[1]].astype(float)
    colors = np.rint(127.5 + 127.5 * np.sin(values)).astype(np.uint8).reshape(len(values), 2, 2, 3)
    return colors.repeat(16, axis=1).repeat(16, axis=2)


MAKE_NO_SENSE = {
    "check_fit_score_takes_y": "the second parameter is called labels: it is no target that every image has",
    "check_transformer_general": "fit_transform is called by keyword y; ours is called labels",
    "check_transformer_preserve_dtypes": "pixels go in and float32 features come out, whatever the pixels' type",
    "check_parameters_default_constructible": "settings is {} where nobody sets it, a new one for each model",
    "check_fit2d_1sample": "one image is refused in words about images and classes, not about samples",
}


def test_scikit_learns_own_checks(parameters, tmp_path: Path) -> None:
    small = {"epochs": 1, "held_out": 0, "settings": {"projector_hidden": 8, "batch_size": 16}}
    with warnings.catch_warnings(action="ignore"):
        done = check_estimator(
            OnVectors(n_classes=4, **parameters | small),
            expected_failed_checks=MAKE_NO_SENSE,
            on_fail=None,
            on_skip=None,
        )
    by_status: dict[str, set[str]] = {}
    for check in done:
        by_status.setdefault(check["status"], set()).add(check["check_name"])
    assert not by_status.get("failed")
    assert by_status["xfail"] == set(MAKE_NO_SENSE), "what passes by now has no place in the list"
    assert len(by_status["passed"]) >= 25
    with warnings.catch_warnings(action="ignore"):
        check_estimator(LegoGCD())


def test_the_number_of_classes_can_be_estimated(parameters, paths, truth) -> None:
    labels = [name if row % 2 else -1 for row, name in enumerate(truth)]
    with warnings.catch_warnings(action="ignore"):
        fitted = LegoGCD(n_classes="auto", **parameters | {"epochs": 1}).fit(
            [Image.open(path) for path in paths], labels
        )
    assert len(fitted.classes_) >= 4
