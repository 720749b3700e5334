"""scikit-learn's habits over the pipeline: ``LegoGCD(n_classes=…).fit(images, labels).predict(images)``."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from legogcd.collection import as_images, from_python_labels
from legogcd.display import Quiet, Screen
from legogcd.errors import UserError
from legogcd.methods import choose_recipe, default_method
from legogcd.report import draw_curves
from legogcd.run import Job, ViewStorage, discover
from legogcd.run.folder import Discovery, check_free, class_names, read_metrics, read_predictions
from legogcd.run.model import Model, load_run
from legogcd.run.pipeline import Outcome, save_run
from legogcd.run.predict import COLUMNS, Predictor
from legogcd.vision.views.opening import DEFAULT_VIEWS, Views


class LegoGCD(BaseEstimator):  # type: ignore[misc]
    """Sort images of which some, of some categories, are labelled.

    Parameters are those of ``legogcd discover``: ``recipe`` is "default", "paper" or a data set's name, ``settings``
    changes single values of it, ``views`` is a number of kept views or "fresh". ``method`` None is ``legogcd+``, ours,
    and with a published recipe ``legogcd``.

    After ``fit``: ``classes_`` holds the known labels, then the new groups (``new-001``, … or, if the labels are
    integers, the integers after the largest); ``novel_classes_`` the latter alone; ``labels_`` the category of every
    image given, its own label where it has one; ``confidence_`` how sure the model is; ``metrics_`` the log by epoch;
    ``calibration_`` what the ``held_out`` share of the labels says about that confidence.

    >>> model = LegoGCD(n_classes=10, epochs=5)
    >>> model.get_params()["recipe"]
    'default'
    """

    def __init__(
        self,
        n_classes: int | None = None,
        *,
        method: str | None = None,
        backbone: str = "efficientnet-lite0",
        epochs: int | None = None,
        recipe: str = "default",
        settings: Mapping[str, Any] | None = None,
        views: Views = DEFAULT_VIEWS,
        image_size: int = 224,
        train_blocks: int = 1,
        seed: int = 0,
        cache: str | Path | None = None,
        disk_budget: int | None = None,
        kept_dtype: str = "bf16",
        held_out: float = 0.1,
        device: str = "auto",
        precision: str = "auto",
        threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_classes = n_classes
        self.method = method
        self.backbone = backbone
        self.epochs = epochs
        self.recipe = recipe
        self.settings = settings
        self.views = views
        self.image_size = image_size
        self.train_blocks = train_blocks
        self.seed = seed
        self.cache = cache
        self.disk_budget = disk_budget
        self.kept_dtype = kept_dtype
        self.held_out = held_out
        self.device = device
        self.precision = precision
        self.threads = threads
        self.verbose = verbose

    def fit(self, images: Any, labels: Any) -> Self:
        """Learn from images (paths, a folder, arrays or tensors) and their labels (-1 or None = unlabelled)."""
        if self.n_classes is None:
            raise UserError("n_classes is needed: how many categories there are in all, known and new")
        collection, known_values = from_python_labels(as_images(images), labels)
        method = self.method or default_method(self.recipe)
        settings = dict(self.settings or {})
        if self.epochs is not None:
            settings["epochs"] = self.epochs
        job = Job(
            collection=collection,
            n_classes=self.n_classes,
            method=method,
            recipe=choose_recipe(self.recipe, method, self.backbone, settings),
            backbone=self.backbone,
            image_size=self.image_size,
            train_blocks=self.train_blocks,
            keeping=ViewStorage(
                self.views, Path(self.cache) if self.cache else None, self.disk_budget, self.kept_dtype
            ),
            held_out=self.held_out,
            seed=self.seed,
            device=self.device,
            precision=self.precision,
            threads=self.threads,
        )
        outcome = discover(job, display=Screen() if self.verbose else _Warnings())
        by_name = dict(zip(collection.known, known_values, strict=True))
        self._take(outcome, [by_name[name] for name in outcome.model.known], collection.images.names)
        return self

    def fit_predict(self, images: Any, labels: Any) -> np.ndarray:
        """``fit``, then ``labels_``."""
        return self.fit(images, labels).labels_

    def predict(self, images: Any) -> np.ndarray:
        """The class of each image, out of ``classes_``."""
        best = self.predict_proba(images).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, images: Any) -> np.ndarray:
        """Calibrated probabilities [N, n_classes], columns as ``classes_``."""
        return self._fitted().probabilities(as_images(images))

    def predict_table(self, images: Any) -> pd.DataFrame:
        """What `legogcd predict` writes, as a DataFrame: path, category, status, confidence, unsure.

        An unreadable image is warned about and left out.
        """
        model, found, unreadable = self._fitted(), as_images(images), dict[str, str]()
        names = [(str(name), number < len(model.known)) for number, name in enumerate(self.classes_)]
        tables = list(Predictor(model, names).tables(found, unreadable))
        for name, reason in unreadable.items():
            warnings.warn(f"{name} cannot be read: {reason}", stacklevel=2)
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=list(COLUMNS))

    def transform(self, images: Any) -> np.ndarray:
        """Trained features [N, D]."""
        return self._fitted().transform(as_images(images))

    def save(self, folder: str | Path) -> None:
        """Write a run folder, as ``legogcd discover`` does; a folder that holds a run already is left alone."""
        self._fitted()
        target = Path(folder)
        check_free(target)
        config = {**self._outcome.config, "label_type": "int" if self.classes_.dtype.kind == "i" else "str"}
        save_run(replace(self._outcome, config=config), target)
        draw_curves(self.metrics_, target / "curves.png", f"{config['method']}, seed {self.seed}")

    @classmethod
    def load(cls, folder: str | Path, backbone: str | None = None, device: str = "auto") -> Self:
        """A fitted estimator from a run folder; ``backbone`` says where the weights are now if they moved."""
        model, config = load_run(Path(folder), backbone, device)
        recipe = config["recipe"]
        estimator = cls(
            n_classes=config["n_classes"],
            method=config["method"],
            backbone=backbone or config["backbone"]["name"],
            epochs=recipe["epochs"],
            settings=recipe,
            views=config["views"]["kept"],
            image_size=config["backbone"]["image_size"],
            train_blocks=config["backbone"]["train_blocks"],
            seed=config["seed"],
            kept_dtype=config["views"]["dtype"],
            held_out=config.get("held_out", 0.0),
            device=device,
        )
        table = read_predictions(Path(folder))
        place = {name: number for number, name in enumerate(class_names(model.known, model.n_classes))}
        labelled = (table["status"] == "labelled").to_numpy()
        discovery = Discovery(
            names=tuple(table["path"]),
            labels=np.where(labelled, table["category"].map(place), -1).astype(np.int64),
            predicted=table["predicted"].map(place).to_numpy(np.int64),
            confidence=table["confidence"].to_numpy(),
            known=model.known,
            n_classes=model.n_classes,
            unreadable=config["images"]["unreadable"],
        )
        known = [int(name) for name in model.known] if config.get("label_type") == "int" else list(model.known)
        outcome = Outcome(discovery, model, read_metrics(Path(folder)), config)
        estimator._take(outcome, known, discovery.names)
        return estimator

    def _take(self, outcome: Outcome, known: list[Any], names: tuple[str, ...]) -> None:
        found = outcome.discovery
        self._outcome, self.model_, self.metrics_ = outcome, outcome.model, outcome.metrics
        self.calibration_ = outcome.model.calibration
        n_known = len(known)
        if known and isinstance(known[0], int):
            first = max(known) + 1
            self.classes_ = np.array([*known, *range(first, first + found.n_classes - n_known)])
        else:
            self.classes_ = np.array(found.class_names)
        self.novel_classes_ = self.classes_[n_known:]
        chosen = np.where(found.labels >= 0, found.labels, found.predicted)
        if len(found.names) == len(names):
            self.labels_, self.confidence_ = self.classes_[chosen], found.confidence
            return
        row = {name: number for number, name in enumerate(found.names)}
        missing = -1 if self.classes_.dtype.kind == "i" else None
        self.labels_ = np.array([self.classes_[chosen[row[name]]] if name in row else missing for name in names])
        self.confidence_ = np.array([found.confidence[row[name]] if name in row else np.nan for name in names])

    def _fitted(self) -> Model:
        if not hasattr(self, "model_"):
            raise NotFittedError("this LegoGCD is not fitted yet; call fit(images, labels) first")
        model: Model = self.model_
        return model


class _Warnings(Quiet):
    """Python's own warnings instead of a screen."""

    def warn(self, text: str) -> None:
        warnings.warn(text, stacklevel=4)
