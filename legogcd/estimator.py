"""scikit-learn's habits over the pipeline: ``LegoGCD(n_classes=…).fit(images, labels).predict(images)``."""

import inspect
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from legogcd.collection import as_images, from_python_labels
from legogcd.collection.group_names import class_names
from legogcd.display import Quiet, Screen
from legogcd.report import draw_curves
from legogcd.run.categories import Categories, current
from legogcd.run.class_count import estimate_job_classes
from legogcd.run.discovery import Discovery, read_predictions
from legogcd.run.folder import CURVES, check_free, read_metrics
from legogcd.run.job import Job
from legogcd.run.model import Model, load_run
from legogcd.run.options import RunOptions, described
from legogcd.run.pipeline import Outcome, discover, save_run
from legogcd.run.predict import COLUMNS, Predictor

_OPTIONS = RunOptions.model_fields


class LegoGCD(BaseEstimator):  # type: ignore[misc]
    """Sort images of which some, of some categories, are labelled.

    Parameters
    ----------
    {parameters}
    verbose : bool, default=False
        Show progress and notes on the screen; otherwise only warnings, as Python's own.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The known labels, then the new groups: ``new-001``, … or, if the labels are integers, the integers after the
        largest.
    novel_classes_ : ndarray
        The new groups alone.
    labels_ : ndarray of shape (n_images,)
        The category of every image given to ``fit``, its own label where it has one.
    confidence_ : ndarray of shape (n_images,)
        How sure the model is of each, 0 to 1.
    metrics_ : list of dict
        The log of training, one entry per epoch.
    calibration_ : Calibration
        What the held-out labels say about that confidence.
    model_ : Model
        Backbone and heads.

    Examples
    --------
    >>> model = LegoGCD(n_classes=10, epochs=5)
    >>> model.get_params()["recipe"]
    'default'

    Then ``model.fit(images, labels)`` with labels of -1 or None for unlabelled images, ``model.labels_``,
    ``model.predict(others)``.
    """

    def __init__(self, n_classes: int | str | None = None, *, verbose: bool = False, **options: Any) -> None:
        unknown = sorted(options.keys() - _OPTIONS)
        if unknown:
            raise TypeError(f"LegoGCD got an unexpected parameter {unknown[0]!r}; there are: {', '.join(_OPTIONS)}")
        self.n_classes, self.verbose = n_classes, verbose
        for name, field in _OPTIONS.items():
            if name != "n_classes":
                setattr(self, name, options.get(name, field.get_default()))

    def fit(self, images: Any, labels: Any) -> Self:
        """Learn from images and the labels some of them have.

        Parameters
        ----------
        images : folder, paths, arrays or tensors
            The images.
        labels : sequence
            One per image, all whole numbers or all strings; -1 or None = unlabelled.

        Returns
        -------
        self : LegoGCD
            The fitted estimator.
        """
        options = RunOptions.given({name: getattr(self, name) for name in _OPTIONS})
        collection, known_values = from_python_labels(as_images(images), labels)
        job, display = Job(collection, options), Screen() if self.verbose else _Warnings()
        if options.n_classes == "auto":
            job = job.changed(n_classes=estimate_job_classes(job, display).classes)
        outcome = replace(discover(job, display=display), features=None)
        found = outcome.discovery
        categories = Categories.as_found(found.known, found.n_classes)
        ints = bool(known_values) and isinstance(known_values[0], int)
        self._take(outcome, categories, found.categories, collection.images.names, ints)
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
        probabilities = self._fitted().probabilities(as_images(images))
        return self._categories.belief(probabilities)

    def predict_table(self, images: Any) -> pd.DataFrame:
        """What `legogcd predict` writes, as a DataFrame: path, category, status, confidence, unsure.

        An unreadable image is warned about and left out.
        """
        model, found, unreadable = self._fitted(), as_images(images), dict[str, str]()
        tables = list(Predictor(model, self._categories).tables(found, unreadable))
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
        label_type = "int" if self.classes_.dtype.kind == "i" else "str"
        config = self._outcome.config.model_copy(update={"label_type": label_type})
        save_run(replace(self._outcome, config=config), target)
        draw_curves(self.metrics_, target / CURVES, config.title)

    @classmethod
    def load(cls, folder: str | Path, backbone: str | None = None, device: str = "auto") -> Self:
        """A fitted estimator from a run folder; names and merges made since are in it.

        Parameters
        ----------
        folder : path
            What ``save`` or ``legogcd discover`` wrote.
        backbone : str, optional
            Where the backbone's weights are now, if they moved.
        device : str, default="auto"
            Where to compute.
        """
        run = Path(folder)
        model, config = load_run(run, backbone, device)
        options = config.options.changed(device=device, **({"backbone": backbone} if backbone else {}))
        estimator = cls(**options.model_dump())
        table = read_predictions(run)
        place = {name: number for number, name in enumerate(class_names(model.known, model.n_classes))}
        labelled = (table["status"] == "labelled").to_numpy()
        discovery = Discovery(
            names=tuple(table["path"]),
            labels=np.where(labelled, table["category"].map(place), -1).astype(np.int64),
            predicted=table["predicted"].map(place).to_numpy(np.int64),
            confidence=table["confidence"].to_numpy(),
            known=model.known,
            n_classes=model.n_classes,
            unreadable=config.images.unreadable,
        )
        outcome = Outcome(discovery, model, read_metrics(run), config)
        categories = Categories.of_run(run, model.known, model.n_classes)
        of_image = current(run)["category"].tolist()
        estimator._take(outcome, categories, of_image, discovery.names, config.label_type == "int")
        return estimator

    def _take(
        self, outcome: Outcome, categories: Categories, of_image: Sequence[str], names: Sequence[str], ints: bool
    ) -> None:
        """Keep what a run found: what its prototypes stand for, and the category of each image it could read.

        ``names`` are those of all images that were given, unreadable ones too; ``ints``: the labels are integers.
        """
        found = outcome.discovery
        self._outcome, self.model_, self.metrics_ = outcome, outcome.model, outcome.metrics
        self.calibration_, self._categories = outcome.model.calibration, categories
        values = _integers(found) if ints else {}
        ints = ints and values.keys() >= {*categories.names, *of_image}  # a name somebody gave is no integer
        self.classes_ = np.array([values[name] if ints else name for name in categories.names])
        self.novel_classes_ = self.classes_[~categories.known]
        given: list[Any] = [values[name] if ints else name for name in of_image]
        if len(found.names) == len(names):
            self.labels_, self.confidence_ = np.array(given), found.confidence
            return
        row = {name: number for number, name in enumerate(found.names)}
        missing = -1 if ints else None
        self.labels_ = np.array([given[row[name]] if name in row else missing for name in names])
        self.confidence_ = np.array([found.confidence[row[name]] if name in row else np.nan for name in names])

    def _fitted(self) -> Model:
        if not hasattr(self, "model_"):
            raise NotFittedError("this LegoGCD is not fitted yet; call fit(images, labels) first")
        model: Model = self.model_
        return model


def _integers(found: Discovery) -> dict[str, int]:
    """Integer labels by their classes' names; new groups are the integers after the largest."""
    known = [int(name) for name in found.known]
    after = range(max(known, default=-1) + 1, max(known, default=-1) + 1 + found.n_classes - len(known))
    return dict(zip(found.class_names, [*known, *after], strict=True))


def _spell_out(estimator: type[LegoGCD]) -> None:
    """Give the estimator one parameter per option, by name and default, and the options' own words about them."""
    kind = inspect.Parameter.KEYWORD_ONLY
    self_, n_classes, verbose = list(inspect.signature(estimator.__init__).parameters.values())[:3]
    options = [
        inspect.Parameter(name, kind, default=field.get_default(), annotation=field.annotation)
        for name, field in _OPTIONS.items()
        if name != "n_classes"
    ]
    estimator.__init__.__signature__ = inspect.Signature([self_, n_classes, *options, verbose])  # type: ignore[attr-defined]
    assert estimator.__doc__ is not None
    estimator.__doc__ = estimator.__doc__.replace("    {parameters}\n", described(RunOptions, indent=4))


_spell_out(LegoGCD)


class _Warnings(Quiet):
    """Python's own warnings instead of a screen."""

    def warn(self, text: str) -> None:
        warnings.warn(text, stacklevel=4)
