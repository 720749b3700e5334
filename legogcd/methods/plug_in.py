"""How a brick gets a name by which it can be added to a method. What is said of it here needs no torch."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

from legogcd.late_objects import late

if TYPE_CHECKING:
    from legogcd.bricks import Brick

Settings = Mapping[str, tuple[Any, FieldInfo]]  # by name: the type, and default and limits
TEMPERATURES = ("temperature", "student_temperature")  # of an added brick: the recipe's, unless it is set


@dataclass(frozen=True, eq=False)
class PlugIn:
    """A brick by name: what it does, its class or where that is, and which brick's place it takes (None: it is added).

    A setting that the replaced brick has too, such as a temperature, is taken over from there and None unless it is
    set, and so is the weight; ``weight`` is that of a brick that is added.
    """

    name: str
    description: str
    brick: "type[Brick] | str"
    settings: Settings
    replaces: "type[Brick] | str | None" = None
    weight: float = 1.0

    @property
    def at_hand(self) -> bool:
        """Whether the class is loaded, so that it can be asked which values it takes."""
        return not isinstance(self.brick, str)


PLUG_INS: dict[str, PlugIn] = {}


def plug_in(
    name: str,
    description: str,
    brick: "type[Brick] | str",
    settings: type[BaseModel] | None = None,
    *,
    replaces: "type[Brick] | str | None" = None,
    weight: float = 1.0,
) -> None:
    """Let a brick be added by name, as in ``legogcd:prior``.

    ``brick`` is its class; or, to be loaded when it is needed, ``module:name`` and a model with its ``settings``. Those
    of a class are the keyword arguments of its constructor.

    >>> from legogcd.bricks import MeanEntropy
    >>> class FlatterMeanEntropy(MeanEntropy):
    ...     pass
    >>> plug_in("flatter", "mean entropy of flatter predictions", FlatterMeanEntropy, replaces=MeanEntropy)
    >>> PLUG_INS.pop("flatter").description
    'mean entropy of flatter predictions'
    """
    if not name.isidentifier():
        raise ValueError(f"a brick's name is one word, not {name!r}")
    if name in PLUG_INS:
        raise ValueError(f"there are two bricks called {name!r}")
    said = settings_of_class(late(brick), late(replaces)) if settings is None else settings_of_model(settings)
    if "weight" in said:
        raise ValueError(f"{name} has a setting called weight; that is the recipe's word for the term's")
    PLUG_INS[name] = PlugIn(name, description, brick, said, replaces, weight)


def settings_of_model(model: type[BaseModel]) -> Settings:
    """The fields of a model."""
    return {name: (field.annotation, field) for name, field in model.model_fields.items()}


def settings_of_class(brick: "type[Brick]", replaces: "type[Brick] | None") -> Settings:
    """The keyword arguments of a brick's constructor; those that are taken over may be None.

    >>> from legogcd.bricks import ViewConsistency
    >>> settings_of_class(ViewConsistency, None)["temperature"][0]
    float | None
    """
    arguments = constructor_arguments(brick)
    taken_over = constructor_arguments(replaces) if replaces else TEMPERATURES
    settings: dict[str, tuple[Any, FieldInfo]] = {}
    for name, (kind, default) in arguments.items():
        if default is inspect.Parameter.empty:
            raise ValueError(f"{brick.__name__}'s setting {name} needs a default, to be added by name")
        limits: Any = Field(None if name in taken_over else default)
        settings[name] = (kind | None if name in taken_over else kind, limits)
    return settings


def constructor_arguments(brick: "type[Brick]") -> dict[str, tuple[Any, Any]]:
    """Type and default of each keyword argument of a brick's constructor.

    >>> from legogcd.bricks import ViewConsistency
    >>> constructor_arguments(ViewConsistency)
    {'temperature': (<class 'float'>, 1.0)}
    """
    from legogcd.bricks import Brick

    if brick.__init__ is Brick.__init__:  # no constructor of its own: nothing to set
        return {}
    types = get_type_hints(brick.__init__)
    _, *parameters = inspect.signature(brick.__init__).parameters.values()  # without self
    return {parameter.name: (types.get(parameter.name, Any), parameter.default) for parameter in parameters}
