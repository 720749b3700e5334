"""scikit-learn's habits over the pipeline: ``LegoGCD(n_classes=…).fit(images, labels).predict(images)``.

Heavy imports wait until they are needed: scikit-learn's base classes for the first ``LegoGCD()``, torch for ``fit``.
"""

import inspect
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from legogcd.late_bases import ScikitLater
from legogcd.run.option_docs import described
from legogcd.run.options import AUTO_BACKBONE, RunOptions

if TYPE_CHECKING:
    import pandas as pd

    from legogcd.collection import Images
    from legogcd.display import Quiet
    from legogcd.report.notebook import GroupPictures
    from legogcd.run.categories import Categories
    from legogcd.run.discovery import Discovery
    from legogcd.run.model import Model
    from legogcd.run.pipeline import Outcome

_OPTIONS = RunOptions.model_fields


class LegoGCD(ScikitLater):
    """Sort images of which some, of some categories, are labelled.

    Parameters
    ----------
    {parameters}
    verbose : bool, default=False
        Show progress and notes, on the screen or in the notebook; otherwise only warnings, as Python's own.

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
    ``model.predict(others)``. A fitted model can be pickled and copied: the trained tensors go along, the backbone is
    loaded again by its name when it is needed.
    """

    def __init__(self, n_classes: int | str | None = None, *, verbose: bool = False, **options: Any) -> None:
        unknown = sorted(options.keys() - _OPTIONS)
        if unknown:
            raise TypeError(f"LegoGCD got an unexpected parameter {unknown[0]!r}; there are: {', '.join(_OPTIONS)}")
        self.n_classes, self.verbose = n_classes, verbose
        for name, field in _OPTIONS.items():
            if name != "n_classes":
                setattr(self, name, options.get(name, field.get_default()))

    def fit(self, images: Any, labels: Any = None) -> Self:
        """Learn from images and the labels some of them have.

        Parameters
        ----------
        images : folder, archive, paths, arrays, tensors, bytes, Pillow images or a data set
            The images. A mapping of path → label, a DataFrame with the columns path and label, a Hugging Face
            ``Dataset`` and a torch ``Dataset`` of pairs bring their labels.
        labels : sequence, mapping by image name, path of a CSV file, or "cls", optional
            One per image, all whole numbers or all strings; -1 or None = unlabelled. "cls": .cls files beside the
            images, as WebDataset has them.

        Returns
        -------
        self : LegoGCD
            The fitted estimator.
        """
        from legogcd.run.arguments import check_options

        options = RunOptions.given({name: getattr(self, name) for name in _OPTIONS})
        check_options(options)
        from legogcd.collection import from_python_labels, images_and_labels
        from legogcd.run.backbone_choice import with_chosen_backbone
        from legogcd.run.categories import Categories
        from legogcd.run.class_count import with_estimated_classes
        from legogcd.run.effort_choice import with_chosen_effort
        from legogcd.run.job import Job
        from legogcd.run.pipeline import discover

        display = self._display()
        found, given = images_and_labels(images, labels, display.note)
        collection, known_values = from_python_labels(found, given)
        job = Job(collection, with_chosen_backbone(options, display.note))
        job = with_chosen_effort(job, display.note)
        job, prepared, _ = with_estimated_classes(job, display)
        outcome = replace(discover(job, display=display, prepared=prepared), features=None, features_at=None)
        categories = Categories.as_found(outcome.discovery.known, outcome.discovery.n_classes)
        ints = bool(known_values) and isinstance(known_values[0], int)
        self._take(outcome, categories, outcome.discovery.categories, collection.images, ints)
        return self

    def fit_predict(self, images: Any, labels: Any = None) -> np.ndarray:
        """``fit``, then ``labels_``."""
        return self.fit(images, labels).labels_

    def fit_transform(self, images: Any, labels: Any = None) -> np.ndarray:
        """``fit``, then ``transform`` of the same images."""
        return self.fit(images, labels).transform(images)

    def predict(self, images: Any) -> np.ndarray:
        """The class of each image, out of ``classes_``."""
        best = self.predict_proba(images).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, images: Any) -> np.ndarray:
        """Calibrated probabilities [N, n_classes], columns as ``classes_``."""
        from legogcd.collection.python_inputs import only_images

        probabilities = self._fitted().probabilities(only_images(images))
        return self._categories.belief(probabilities)

    def predict_table(
        self, images: Any, *, false_alarms: float = 0.05, group_strangers: bool = False
    ) -> "pd.DataFrame":
        """What `legogcd predict` writes, as a DataFrame: path, category, status, confidence, unsure, stranger and
        strangeness.

        ``false_alarms`` is the share of images of the model's categories that may be called strangers;
        ``group_strangers`` adds the column stranger_group, strangers that look alike. An unreadable image is warned
        about and left out.
        """
        import pandas as pd

        from legogcd.collection.python_inputs import only_images
        from legogcd.run.predict import COLUMNS, Predictor, with_groups
        from legogcd.run.prediction_tables import called_strangers

        model, found, unreadable = self._fitted(), only_images(images), dict[str, str]()
        batches = Predictor(model, self._categories, false_alarms).batches(found, unreadable)
        held = [(table, features[called_strangers(table)]) for table, features in batches]
        for name, reason in unreadable.items():
            warnings.warn(f"{name} cannot be read: {reason}", stacklevel=2)
        if not held:
            return pd.DataFrame(columns=list(COLUMNS))
        return with_groups(held)[0] if group_strangers else pd.concat([table for table, _ in held], ignore_index=True)

    def strangeness(self, images: Any) -> np.ndarray:
        """How little each image looks like any category [N]: the share of the fitted images that fit theirs better.

        Above 0.95, an image is what ``predict_table`` calls a stranger; so are 5 % of the images that do belong.
        """
        from legogcd.collection.python_inputs import only_images
        from legogcd.errors import UserError
        from legogcd.run.predict import NO_STRANGERS

        usual = self._fitted().strangers
        if usual is None:
            raise UserError(NO_STRANGERS)
        return usual.strangeness(np.concatenate([*self.model_.distances(only_images(images))]))

    def score(self, images: Any, labels: Any = None) -> float:
        """The share of images whose group stands for their true class, after one optimal matching: All of the paper.

        ``labels`` are true classes, also of new groups, by any names; -1 or None: not scored.
        """
        from legogcd.collection import from_python_labels, images_and_labels
        from legogcd.evaluation import clustering_accuracy

        self._fitted()
        found, given = images_and_labels(images, labels)
        truth, names = from_python_labels(found, given)
        known = self.classes_[~np.isin(self.classes_, self.novel_classes_)].tolist()
        others = [name for name in names if name not in known]
        place = {name: number for number, name in enumerate([*known, *others])}
        scored = truth.labelled
        true_ids = np.array([place[names[label]] for label in truth.labels[scored]], dtype=np.int64)
        predicted = self.predict_proba(found.subset(np.flatnonzero(scored))).argmax(axis=1)
        return clustering_accuracy(true_ids, predicted, n_known=len(known)).all

    def transform(self, images: Any) -> np.ndarray:
        """Trained features [N, D]."""
        from legogcd.collection.python_inputs import only_images

        return self._fitted().transform(only_images(images))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of ``transform``: legogcd0, legogcd1, …"""
        return np.array([f"legogcd{number}" for number in range(self._fitted().backbone.dim)], dtype=object)

    def save(self, folder: str | Path) -> None:
        """Write a run folder, as ``legogcd discover`` does; a folder that holds a run already is left alone."""
        from legogcd.report import draw_curves
        from legogcd.run.folder import CURVES, check_free
        from legogcd.run.pipeline import Outcome, save_run

        model, target = self._fitted(), Path(folder)
        check_free(target)
        label_type = "int" if self.classes_.dtype.kind == "i" else "str"
        config = self._config.model_copy(update={"label_type": label_type})
        save_run(Outcome(self._discovery, model, self.metrics_, config), target)
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
        from legogcd.collection.group_names import class_names
        from legogcd.errors import UserError
        from legogcd.run.categories import Categories, current
        from legogcd.run.discovery import Discovery, read_predictions
        from legogcd.run.folder import read_metrics
        from legogcd.run.model import load_run
        from legogcd.run.pipeline import Outcome
        from legogcd.run.trust import FilesBelow, trusted_root

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
        try:
            images = FilesBelow(trusted_root(run, config, None), discovery.names)
        except UserError:  # moved, or somebody else's: what was found is known all the same
            images = FilesBelow(Path(), discovery.names)
        estimator._take(outcome, categories, of_image, images, config.label_type == "int")
        return estimator

    def _take(
        self, outcome: "Outcome", categories: "Categories", of_image: Sequence[str], images: "Images", ints: bool
    ) -> None:
        """Keep what a run found: what its prototypes stand for, and the category of each image it could read.

        ``images`` are all that were given, unreadable ones too; ``ints``: the labels are integers.
        """
        found, names = outcome.discovery, images.names
        self._discovery, self._config, self._model, self._packed = found, outcome.config, outcome.model, None
        self._images: Images | None = images
        self._pictures: list[GroupPictures] | None = None
        self.metrics_, self.calibration_, self._categories = outcome.metrics, outcome.model.calibration, categories
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

    def _fitted(self) -> "Model":
        if not hasattr(self, "classes_"):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError("this LegoGCD is not fitted yet; call fit(images, labels) first")
        model: Model = self.model_
        return model

    @property
    def model_(self) -> "Model":
        """Backbone and heads; after a pickle or a copy the backbone is loaded again, once."""
        if "_model" not in vars(self):
            raise AttributeError("model_")
        if self._model is None:
            from legogcd.run.packing import unpack

            elsewhere = None if self.backbone == AUTO_BACKBONE else self.backbone
            self._model = unpack(self._packed, self._config, self.device, elsewhere)
        model: Model = self._model
        return model

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle or a copy holds: no trunk, no maps, no pixels that were given from Python."""
        state = dict(vars(self))
        if state.get("_model") is not None:
            from legogcd.run.packing import pack

            state |= {"_model": None, "_packed": pack(self._model)}
        if "_images" in state and hasattr(state["_images"], "source"):
            state["_images"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # images: folders, paths, arrays [N, H, W, 3] and more
        tags.input_tags.three_d_array = tags.input_tags.string = True
        tags.target_tags.required = True
        tags.no_validation = True
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """The parameters that were set, and once it is fitted what it found."""
        shown: str = super().__repr__(N_CHAR_MAX)
        return f"{shown}\n{self._discovery.summary()}" if "_discovery" in vars(self) else shown

    def _repr_html_(self) -> str:
        """In a notebook: once it is fitted, every class and group with its surest images."""
        if "_discovery" not in vars(self):
            from sklearn.utils import estimator_html_repr

            return str(estimator_html_repr(self))
        from legogcd.report.notebook import found_html, group_pictures

        if self._pictures is None:
            self._pictures = group_pictures(self._discovery, self.labels_, self._images)
        return found_html(repr(self), self._pictures)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _display(self) -> "Quiet":
        from legogcd.display import AsWarnings, screen

        return screen() if self.verbose else AsWarnings()


def _integers(found: "Discovery") -> dict[str, int]:
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
