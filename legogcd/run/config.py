"""config.json: what was asked for, and everything else that is needed to repeat a run and to load its model."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from legogcd.collection.differences import CollectionRecord, what_differs
from legogcd.edits.edit import Text
from legogcd.errors import UserError
from legogcd.files import parse_json, write_text
from legogcd.run.folder import COLLECTION, CONFIG, run_file
from legogcd.run.options import RunOptions
from legogcd.version import __version__


class ImagesRecord(BaseModel):
    """The images a run was made of."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    root: str | None = None  # None: they were given from Python
    count: int = Field(ge=0)
    labelled: int = Field(ge=0)
    trained_on: int | None = None  # None: all of them
    unreadable: dict[str, str] = {}
    set_aside: tuple[Text, ...] = ()  # images that show nothing of the collection: left out
    digests: dict[str, str | int] = {}  # of names, sizes, times and labels: what a run was made of


class RunConfig(BaseModel):
    """A run's configuration; no times, so that repeats have the same bytes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str = __version__
    name: str = ""
    options: RunOptions  # device, precision and threads as they turned out
    method: str
    recipe: dict[str, Any]
    differs: tuple[str, ...] = ()  # from the published runs, where the recipe is a published one
    weights: str  # fingerprint of the backbone's
    kept_in: str = ""  # the folder of the cache with the views the run used; empty where none were kept
    known: tuple[str, ...]
    estimated: tuple[int, int] | None = None  # the interval of the number of categories, where it is an estimate
    images: ImagesRecord
    label_type: Literal["int", "str"] = "str"

    @property
    def n_classes(self) -> int:
        assert isinstance(self.options.n_classes, int)  # read_config refuses others
        return self.options.n_classes

    @property
    def title(self) -> str:
        """Method and seed, after the collection's name where it has one."""
        run = f"{self.method}, seed {self.options.seed}"
        return f"{self.name}: {run}" if self.name else run

    def as_json(self) -> dict[str, Any]:
        dumped = self.model_dump(mode="json", exclude={"options"})
        del dumped["images"]["set_aside"]  # what is usual is not said
        if self.images.set_aside:
            dumped["images"]["set_aside"] = list(self.images.set_aside)  # pydantic would replace what is not UTF-8
        return {**dumped, "options": self.options.recorded()}


def write_config(folder: Path, config: RunConfig) -> None:
    write_text(folder / CONFIG, json.dumps(config.as_json(), indent=1, sort_keys=True) + "\n")


def read_config(folder: Path) -> RunConfig:
    """config.json of a run."""
    path = run_file(folder, CONFIG)
    try:
        config = RunConfig.model_validate(parse_json(path.read_bytes()))
    except ValidationError as error:
        first = error.errors()[0]
        where = " ".join(str(part) for part in first["loc"])
        raise UserError(
            f"{path} is not a configuration this version can read ({where}: {first['msg'].lower()})"
        ) from None
    except ValueError:
        raise UserError(f"{path} is not a legogcd configuration (it is not JSON)") from None
    if not isinstance(config.options.n_classes, int) or config.options.n_classes < len(config.known):
        raise UserError(f"{path} is not a configuration this version can read (n_classes)")
    return config


def check_same(folder: Path, config: RunConfig, collection: CollectionRecord) -> None:
    """See that a run to go on with was begun with the same settings, images and labels; what differs is named."""
    begun = read_config(folder)
    for difference in what_differs(begun.images.digests, collection, _recorded(folder)):
        raise UserError(f"{folder} was begun with other images or labels: {difference.sentence}; start a new run")
    differing = sorted(set(_differing(begun.as_json(), config.as_json())))
    if differing:
        raise UserError(
            f"{folder} was begun with another {', '.join(differing)}; give the same settings, or another --out"
        )


def _recorded(folder: Path) -> CollectionRecord | None:
    try:
        return CollectionRecord.read(folder / COLLECTION)
    except UserError:  # without it, only the kind of a difference can be told
        return None


def _differing(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """What two configurations do not agree on, by name; groups of values by the names in them."""
    for name in {*before, *now}:
        one, other = before.get(name), now.get(name)
        if isinstance(one, dict) and isinstance(other, dict):
            yield from _differing(one, other)
        elif one != other:
            yield name
