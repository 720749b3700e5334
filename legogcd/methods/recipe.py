"""Every number of a training run that a person may want to set, with the published values as defaults."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from legogcd.errors import UserError
from legogcd.methods.plug_in import PlugIn

Views = Literal["both", "first"]  # which of an image's two views a term is over


class Recipe(BaseModel):
    """What every trained method has: how long, how fast, from where. Each method adds its own numbers.

    >>> Recipe().with_settings({"epochs": "30", "learning_rate": 0.05}).epochs
    30
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    epochs: int = Field(200, ge=1)
    until_flat: bool = Field(
        False, description="end before the last epoch where ten epochs lower the mean loss by less than 1 percent"
    )
    batch_size: int = Field(128, ge=1)
    learning_rate: float = Field(0.1, gt=0)
    tail_rate: float = Field(1.0, ge=0, description="learning rate of the backbone's tail relative to the heads'")
    schedule: Literal["cosine", "steps"] = "cosine"
    final_rate: float = Field(1e-3, ge=0, le=1, description="the cosine ends at this share of the learning rate")
    rate_steps: tuple[float, ...] = Field((), description="shares of the epochs after which the rate falls tenfold")
    rate_warmup: float = Field(0.0, ge=0, lt=1, description="share of the epochs over which the rate rises first")
    rate_warmup_from: float | None = Field(
        None, ge=0, le=1, description="the rise begins at this share of the rate; default: one epoch's part of the rise"
    )
    momentum: float = Field(0.9, ge=0, lt=1)
    weight_decay: float = Field(5e-5, ge=0)
    decayed: Literal["matrices", "all"] = Field("matrices", description="all: weight decay on biases and norms too")
    batches: Literal["balanced", "proportional"] = Field(
        "balanced", description="labelled and unlabelled images equally often, or as often as there are of them"
    )
    start: Literal["random", "kmeans"] = "random"

    def passed(self, epoch: int) -> float:
        """Which share of the run has passed in an epoch, from 0 in the first to 1 in the last.

        >>> [Recipe(epochs=5).passed(epoch) for epoch in range(5)], Recipe(epochs=1).passed(0)
        ([0.0, 0.25, 0.5, 0.75, 1.0], 0.5)
        """
        return min(1.0, epoch / (self.epochs - 1)) if self.epochs > 1 else 0.5

    def with_settings(self, settings: Mapping[str, Any]) -> Self:
        """The same recipe with some settings changed; text is read as the setting's type."""
        known = type(self).model_fields
        unknown = sorted(set(settings) - set(known))
        if unknown:
            raise UserError(f"unknown setting {unknown[0]!r}; there are: {', '.join(sorted(known))}")
        try:
            return type(self).model_validate({**self.model_dump(), **settings})
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(str(part) for part in first["loc"])
            raise UserError(f"setting {name} = {first['input']!r}: {first['msg'].lower()}") from None


class ParametricRecipe(Recipe):
    """SimGCD and LegoGCD: weights, temperatures and forms; PAPER section 2 with CUB's threshold, ε and β.

    The forms are those in which the paper's text and its released code differ (docs/paper.md).

    >>> ParametricRecipe().with_settings({"beta": "1"}).beta
    1.0
    """

    plug_ins: ClassVar[tuple[PlugIn, ...]] = ()  # the bricks that a method's name adds

    supervised_weight: float = Field(0.35, ge=0, le=1, description="λ: supervised terms weigh λ, the others 1-λ")
    classification_weight: float = Field(
        1.0, ge=0, description="α: weight of the classification loss (CE, self-distillation, mean entropy, DKL)"
    )
    supervised_scale: float = Field(1.0, ge=0, description="times λ on the supervised terms; Algorithm 1 has 1/λ")
    mean_entropy_weight: float = Field(2.0, ge=0, description="ε, times 1-λ")
    dkl_weight: float = Field(1.0, ge=0, description="weight of the dual-view KL, times 1-λ")
    beta: float = Field(2.0, ge=0, description="β: weight of local entropy regularization")
    threshold: float = Field(0.7, ge=0, le=1, description="δ: confidence from which a view counts as a known one")
    threshold_warmup_epochs: int = Field(0, ge=0, description="so many epochs LER selects nothing")

    student_temperature: float = Field(0.1, gt=0, description="τs")
    teacher_temperature_start: float = Field(0.07, gt=0)
    teacher_temperature_end: float = Field(0.04, gt=0)
    teacher_warmup_epochs: int | None = Field(None, ge=0, description="30, or 15 % of a run shorter than 30 epochs")
    teacher_warmup: Literal["linear", "cosine"] = "linear"
    info_nce_temperature: float = Field(1.0, gt=0)
    sup_con_temperature: float = Field(0.07, gt=0)
    contrast_form: Literal["released", "paper"] = Field(
        "released", description="paper: as printed, first views against second views only"
    )
    ler_temperature: float = Field(0.05, gt=0, description="τo")
    margin_strength: float = Field(0.4, ge=0, description="λ_ler of the margin-aware pattern")
    margin_momentum: float = Field(0.999, ge=0, lt=1)
    dkl_form: Literal["paper", "symmetric", "released"] | None = Field(
        None, description="default: as the method's name says"
    )
    dkl_detach: bool | None = Field(None, description="hold the other view fixed; default: as the form says")
    margin_form: Literal["paper", "released"] | None = Field(None, description="default: as the method's name says")
    margin_temperature: float | None = Field(
        None, gt=0, description="of the running mean prediction; paper: τs, released: 1"
    )

    projector_hidden: int = Field(2048, ge=1, description="width of the projector's two hidden layers")
    projector_out: int = Field(256, ge=1)
    head: Literal["cosine", "hyperbolic"] = Field(
        "cosine", description="logits: cosines to the prototypes, or by the distance to them in a Poincaré ball (HypCD)"
    )
    curvature: float = Field(0.05, gt=0, le=1, description="c: the hyperbolic head's ball has curvature -c")
    clip_length: float = Field(
        2.3, gt=0, le=10, description="r: the hyperbolic head clips longer features; its prototypes are so long"
    )
    steering: float = Field(
        0.0,
        ge=0,
        le=1,
        description="so much of an unlabelled image's gradient among the known classes goes, where it looks new (EAGC)",
    )

    @property
    def distillation(self) -> dict[str, Any]:
        """The temperatures of self-distillation and how they change, by the names its brick has for them."""
        return {
            "student_temperature": self.student_temperature,
            "teacher_temperatures": (self.teacher_temperature_start, self.teacher_temperature_end),
            "warmup_epochs": self.warmup_epochs,
            "warmup": self.teacher_warmup,
        }

    @property
    def warmup_epochs(self) -> int:
        """How many epochs the teacher's temperature takes to fall."""
        if self.teacher_warmup_epochs is not None:
            return self.teacher_warmup_epochs
        return 30 if self.epochs >= 30 else max(1, round(0.15 * self.epochs))
