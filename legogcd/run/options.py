"""What may be set for a run: every option once, with its default and its one line of help.

The command line, the plan, the comparison, the estimator and its documentation, config.json and the command that
repeats a run are all made from these fields. A new option is one more field.
"""

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.fields import FieldInfo

from legogcd.errors import UserError
from legogcd.run.effort import EFFORTS, Effort, EffortChoice, effort_named

if TYPE_CHECKING:
    from legogcd.methods import Recipe
    from legogcd.vision.views.opening import ViewStorage

Device = Literal["auto", "cpu", "cuda", "mps"]
Precision = Literal["auto", "fp32", "bf16"]
KeptDtype = Literal["bf16", "fp16", "fp32", "int8"]
Decode = Literal["fast", "full"]
NearDuplicates = Literal["as-one", "apart"]
Views = int | Literal["fresh"]
Sizes = Literal["prior", "equal", "free"]
Group = Literal["labels", "classes", "training", "backbone", "views", "machine", "engine"]
GROUP_TITLES: dict[Group, str] = {
    "labels": "Labels and categories",
    "classes": "Labels and categories",
    "training": "Training",
    "backbone": "What looks at the images",
    "views": "What is kept of them on disk",
    "machine": "This machine",
    "engine": "Several machines",
}
"""Headings of the groups, in their order."""
_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}


class RunProtocol(NamedTuple):
    """What a recipe and an effort bring beside settings, wherever an option does not say otherwise."""

    held_out: float
    precision: Precision
    kept_dtype: KeptDtype
    decode: Decode
    near_duplicates: NearDuplicates
    backbone: str = EFFORTS["normal"].backbone
    train_blocks: int = EFFORTS["normal"].train_blocks
    views: Views = EFFORTS["normal"].views


_OURS = RunProtocol(held_out=0.1, precision="auto", kept_dtype="bf16", decode="fast", near_duplicates="as-one")
_PUBLISHED = RunProtocol(held_out=0.0, precision="fp32", kept_dtype="fp32", decode="full", near_duplicates="apart")
_DINO = ("facebook/dino-vitb16",)  # the published backbone, by the names it has here
_PUBLISHED_SIZE = 224
AUTO_BACKBONE = "auto"


def option(
    default: Any,
    help_: str,
    group: Group,
    *,
    flag: str = "",
    metavar: str = "",
    as_text: bool = False,
    recorded: bool = True,
    **bounds: Any,
) -> Any:
    """A field; ``flag`` is its spelling on the command line where that is not its name.

    ``as_text``: the field reads what stands on the command line by itself. What is not ``recorded`` changes no result
    and is not part of config.json.
    """
    extra: dict[str, Any] = {
        "group": group,
        "flag": flag,
        "metavar": metavar,
        "as_text": as_text,
        "recorded": recorded,
    }
    return Field(default, description=help_, json_schema_extra=extra, **bounds)


def flag_of(name: str, field: FieldInfo) -> str:
    """An option as it is written on the command line."""
    return str(about(field)["flag"]) or f"--{name.replace('_', '-')}"


def about(field: FieldInfo) -> dict[str, Any]:
    """What ``option`` noted beside a field."""
    assert isinstance(field.json_schema_extra, dict)
    return dict(field.json_schema_extra)


def _plainly(mistake: str, limits: Mapping[str, Any]) -> str:
    """A mistake that pydantic found, as a person would say it; nothing where its own words will do."""
    return {
        "greater_than_equal": f"expected {limits.get('ge')} or more",
        "less_than_equal": f"expected {limits.get('le')} at most",
        "less_than": f"expected less than {limits.get('lt')}",
        "int_parsing": "expected a whole number",
        "int_from_float": "expected a whole number",
        "float_parsing": "expected a number",
    }.get(mistake, "")


class Options(BaseModel):
    """Options that were given, checked; what is wrong is one line for the person who gave it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def given(cls, values: Mapping[str, Any], *, on_command_line: bool = False) -> Self:
        """Check values by name; a mistake is told by the option's flag or by the parameter's name.

        >>> RunOptions.given({"views": "8", "disk_budget": "20GB"}).disk_budget
        20000000000
        """
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            if name not in cls.model_fields:
                raise UserError(f"unknown option {name!r}; there are: {', '.join(cls.model_fields)}") from None
            spelled = flag_of(name, cls.model_fields[name]) if on_command_line else f"{name} ="
            if first["type"] == "literal_error" and not on_command_line:
                raise UserError(f"unknown {name} {values[name]!r}; expected {first['ctx']['expected']}") from None
            reason = _plainly(first["type"], first.get("ctx", {})) or first["msg"].removeprefix("Value error, ")
            shown = ", ".join(values[name]) if isinstance(values[name], list) else values[name]
            raise UserError(f"{spelled} {shown}: {reason[0].lower()}{reason[1:]}") from None

    def changed(self, **values: Any) -> Self:
        """The same options but for some."""
        return type(self).given({**self.model_dump(), **values})

    @classmethod
    def chosen(cls, *names: str) -> dict[str, FieldInfo]:
        """Some fields by their names or by their groups' names, or all, in their order."""
        fields = cls.model_fields.items()
        return {name: field for name, field in fields if not names or name in names or about(field)["group"] in names}


class LabelOptions(Options):
    """Which labels a collection on disk has, and where the truth is that scores it."""

    labels: str | None = option(
        None,
        "CSV with columns path,label (paths relative to IMAGES); `folders`: see --known; `cls`: .cls files beside the "
        "images, as WebDataset has them.",
        "labels",
    )
    known: str | None = option(
        None, "With --labels folders: the sub-folders taken as known, like owl,hawk,finch.", "labels"
    )
    labelled_share: float = option(
        0.5, "With --labels folders: share of the known classes' images whose label is used.", "labels"
    )
    truth: Path | None = option(None, "CSV path,label to score with; it is never used to train.", "labels")

    @property
    def known_names(self) -> list[str]:
        """The known classes that --known names."""
        return [name.strip() for name in (self.known or "").split(",") if name.strip()]


class RunOptions(Options):
    """Everything that decides what a run computes, and where.

    >>> RunOptions(n_classes=12).method_name, RunOptions(recipe="cub").method_name
    ('legogcd+', 'legogcd')
    >>> RunOptions(effort="quick").protocol.views, RunOptions(effort="quick", views=8).protocol.views
    (2, 8)
    """

    n_classes: int | Literal["auto"] | None = option(
        None,
        "Categories in all, known and new; `auto` estimates it. With --labels folders: the number of sub-folders.",
        "classes",
        flag="--classes",
        metavar="N|auto",
    )
    method: str | None = option(
        None, "A name from `legogcd methods`; default: legogcd+, or legogcd with a published recipe.", "training"
    )
    recipe: str = option(
        "default", "`default` (ours, for photos), `paper`, or one of its data sets: cub, cifar100, ...", "training"
    )
    effort: EffortChoice = option(
        "normal",
        "quick: 2 views, 5 epochs; thorough: three EfficientNets side by side, two blocks of each trained, unless you "
        "name a backbone, and groups that several searches agree on; auto: thorough where your labels say that "
        "categories are hard to tell apart, else normal. What you set yourself stays. `legogcd plan` says what each "
        "costs. Not with a published recipe.",
        "training",
    )
    epochs: int | None = option(None, "Epochs to train; default: as --effort says, or the recipe's.", "training", ge=1)
    start: Literal["random", "kmeans"] | None = option(
        None, "Where prototypes start: random is the paper's; default: the recipe's.", "training"
    )
    sizes: Sizes | None = option(
        None,
        "What legogcd+ expects of the categories' sizes. prior: what labels and images say; equal: all alike, which "
        "flatters balanced benchmarks and costs where yours are not; free: nothing. Default: prior.",
        "training",
    )
    settings: dict[str, Any] = option(
        {}, "Change any weight, temperature or rate; may be repeated.", "training", flag="--set", metavar="NAME=VALUE"
    )
    held_out: float | None = option(
        None,
        "Share of the labels kept out of training, to calibrate the confidence; 0: none. Default: 0.1, or 0 with a "
        "published recipe.",
        "training",
        ge=0,
        lt=1,
    )
    near_duplicates: NearDuplicates | None = option(
        None,
        "as-one: copies and versions of one photo count once and get one answer; apart: every file counts. Default: "
        "as-one, or apart with a published recipe.",
        "training",
    )
    train_on: int | None = option(
        None,
        "Learn from so many images, all labelled ones among them, and sort the others without keeping anything of "
        "them: for collections whose views do not fit on the disk. Default: all.",
        "training",
        ge=2,
    )
    seed: int = option(0, "Same seed, same machine, same bytes.", "training")
    backbone: str | None = option(
        None,
        "A name from `legogcd backbones`, a Hugging Face id, a model folder or a DINO .pth file; `auto` takes DINOv2 "
        "where it is on this machine, and asks before it downloads anything. Default: efficientnet-lite0, or as "
        "--effort says.",
        "backbone",
    )
    image_size: int = option(224, "Side of the square a backbone sees, in pixels.", "backbone", ge=1, le=4096)
    train_blocks: int | None = option(
        None,
        "Train the last N blocks; 1 is the paper's choice and by far the fastest. Where known categories are hard to "
        "tell apart, 2 may find more. Default: 1, or as --effort says.",
        "backbone",
        ge=1,
    )
    views: Views | None = option(
        None,
        "Random views kept of each image (2 or more), or `fresh` to encode anew every epoch (slow). Default: 4, or as "
        "--effort says.",
        "views",
    )
    cache: Path | None = option(None, "Where kept views live; default: your cache folder.", "views", recorded=False)
    disk_budget: int | None = option(
        None,
        "Most disk for kept views, like 20GB; default: half of what is free.",
        "views",
        as_text=True,
        recorded=False,
    )
    recognize: Literal["time", "content"] = option(
        "time",
        "How kept views know their images again: by name, size and time of change, or by content (reads every file).",
        "views",
        recorded=False,
    )
    kept_dtype: KeptDtype | None = option(
        None,
        "How kept views are stored; int8 takes half of bf16's disk, fp32 twice. Default: bf16, or fp32 with a "
        "published recipe.",
        "views",
    )
    decode: Decode | None = option(
        None,
        "fast decodes large images at a fraction of their size. Default: fast, or full with a published recipe.",
        "views",
    )
    device: Device = option("auto", "auto takes CUDA, then MPS, then the CPU.", "machine")
    precision: Precision | None = option(
        None,
        "auto takes bf16 where the hardware multiplies it. Default: auto, or fp32 with a published recipe.",
        "machine",
    )
    threads: int | None = option(None, "CPU threads; default: all cores.", "machine", ge=1)
    engine: Literal["local", "ray"] = option(
        "local",
        "Who encodes and trains: this machine, or a Ray cluster whose machines all see --cache and --out.",
        "engine",
        recorded=False,
    )
    ray_address: str | None = option(
        None, "Where Ray is; default: RAY_ADDRESS, or a Ray of its own on this machine.", "engine", recorded=False
    )
    workers: int = option(1, "Processes that train together with --engine ray.", "engine", recorded=False, ge=1)

    @field_validator("n_classes", mode="before")
    @classmethod
    def _a_number_or_auto(cls, given: Any) -> Any:
        if not isinstance(given, str):
            return given
        if given.strip().lower() == "auto":
            return "auto"
        if not given.strip().isdecimal():
            raise ValueError("expected a number, or auto")
        return int(given)

    @field_validator("views", mode="before")
    @classmethod
    def _two_views_or_fresh(cls, given: Any) -> Any:
        count = int(given) if isinstance(given, str) and given.isdecimal() else given
        if count not in ("fresh", None) and not (isinstance(count, int) and count >= 2):
            raise ValueError("expected a number from 2 up, or fresh")
        return count

    @field_validator("disk_budget", mode="before")
    @classmethod
    def _a_size(cls, given: Any) -> Any:
        if not isinstance(given, str):
            return given
        text = given.strip().lower()
        number = text.rstrip("bkmgt ")
        unit = text[len(number) :].strip()
        try:
            return int(float(number) * _UNITS[unit if unit in _UNITS else f"{unit}b"])
        except (ValueError, KeyError):
            raise ValueError("expected a size like 20GB or 500MB") from None

    @field_validator("settings", mode="before")
    @classmethod
    def _pairs(cls, given: Any) -> Any:
        """A mapping, or NAME=VALUE texts as the command line has them."""
        if given is None or isinstance(given, Mapping):
            return dict(given or {})
        pairs = [str(pair).partition("=") for pair in given]
        named = {name.strip(): value.strip() for name, equals, value in pairs if equals}
        if len(named) != len(pairs):
            raise ValueError("expected different NAME=VALUE pairs, like beta=1")
        return named

    @property
    def method_name(self) -> str:
        """What trains: ours with our recipe and the paper's with a published one, unless a method is named."""
        from legogcd.methods import default_method

        return self.method or default_method(self.recipe)

    @property
    def brought(self) -> Effort:
        """What the effort brings; one that is not the usual is refused with a published recipe."""
        if self.effort != "normal" and self.recipe != "default":
            raise UserError(f"effort {self.effort} goes with our recipe only; recipe {self.recipe} trains as published")
        return effort_named(self.effort)

    @property
    def protocol(self) -> RunProtocol:
        """What was set, and where nothing was, what recipe and effort bring: ours, or the published protocol."""
        effort = self.brought
        brought = (_OURS if self.recipe == "default" else _PUBLISHED)._replace(
            backbone=effort.backbone, views=effort.views
        )
        if self.backbone in (None, effort.backbone):  # a backbone of the person's own trains as deep as any
            brought = brought._replace(train_blocks=effort.train_blocks)
        given = {name: getattr(self, name) for name in brought._fields}
        return brought._replace(**{name: value for name, value in given.items() if value is not None})

    def unlike_published(self, precision: str | None = None) -> tuple[str, ...]:
        """In what a run with a published recipe differs from the published ones; nothing for ours.

        ``precision`` is the one the run turned out to have.
        """
        if self.recipe == "default":
            return ()
        from legogcd.methods import method_entry

        protocol = self.protocol
        changed = self._changed_settings()
        found = {
            f"{protocol.views} kept views of each image instead of fresh ones": protocol.views != "fresh",
            f"backbone {protocol.backbone} instead of DINO ViT-B/16": protocol.backbone not in _DINO,
            f"{self.image_size} px instead of {_PUBLISHED_SIZE}": self.image_size != _PUBLISHED_SIZE,
            f"{protocol.train_blocks} blocks trained instead of the last one": protocol.train_blocks != 1,
            f"{protocol.held_out:g} of the labels held out": protocol.held_out > 0,
            f"precision {precision or protocol.precision}": (precision or protocol.precision) != "fp32",
            f"views kept as {protocol.kept_dtype}": protocol.kept_dtype != "fp32",
            "large images decoded at a fraction of their size": protocol.decode != "full",
            "near-duplicates count as one": protocol.near_duplicates != "apart",
            f"changed: {', '.join(f'{name}={value}' for name, value in changed.items())}": bool(changed),
        }
        return (*(words for words, differs in found.items() if differs), *method_entry(self.method_name).departures)

    def chosen_recipe(self) -> "Recipe":
        """The recipe by its name, for the method and the backbone, with what was changed."""
        from legogcd.methods import choose_recipe, method_entry

        has = method_entry(self.method_name).recipe.model_fields
        brought = {name: value for name, value in self.brought.settings.items() if name in has}
        if self.sizes is not None and "sizes" not in has:
            raise UserError(f"sizes {self.sizes}: {self.method_name} takes no such wish; legogcd+ does")
        changed = brought | self._changed_settings()
        protocol = self.protocol
        recipe = choose_recipe(self.recipe, self.method_name, protocol.backbone, changed, protocol.train_blocks)
        if self.effort != "normal" and not recipe.epochs:
            raise UserError(f"effort {self.effort}: {self.method_name} trains nothing, so no effort changes it")
        return recipe

    def _changed_settings(self) -> dict[str, Any]:
        """What the person changes of the recipe; some settings have an option of their own."""
        single = {"epochs": self.epochs, "start": self.start, "sizes": self.sizes}
        return self.settings | {name: value for name, value in single.items() if value is not None}

    def view_storage(self) -> "ViewStorage":
        """How views are kept."""
        from legogcd.vision.views.opening import ViewStorage

        by_content = self.recognize == "content"
        views, kept_dtype = self.protocol.views, self.protocol.kept_dtype
        return ViewStorage(views, self.cache, self.disk_budget, kept_dtype, by_content=by_content)

    def recorded(self) -> dict[str, Any]:
        """What config.json keeps of the options, as JSON."""
        without = {name for name, field in type(self).model_fields.items() if not about(field)["recorded"]}
        return self.model_dump(mode="json", exclude=without)

    def words(self) -> Iterator[str]:
        """These options as words of a command, quoted for a shell; what is not set is left out."""
        fields = type(self).model_fields
        for name, value in self.recorded().items():
            texts = [f"{key}={each}" for key, each in value.items()] if isinstance(value, dict) else [value]
            for text in texts:
                if text is not None:
                    yield from (flag_of(name, fields[name]), shlex.quote(str(text)))
