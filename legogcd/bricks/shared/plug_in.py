"""How a brick gets a name by which it can be added to a method."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, get_type_hints

from legogcd.bricks.shared.brick import Brick

AnyBrick = TypeVar("AnyBrick", bound=type[Brick])


@dataclass(frozen=True)
class PlugIn:
    """A brick by name: what it does, and which brick's place it takes (None: it is added).

    The keyword arguments of the brick's constructor are its settings. One that the replaced brick has too, such as a
    temperature, is taken over from there, and so is the weight; ``weight`` is that of a brick that is added.
    """

    name: str
    description: str
    brick: type[Brick]
    replaces: type[Brick] | None = None
    weight: float = 1.0


PLUG_INS: dict[str, PlugIn] = {}


def plug_in(
    name: str, description: str, replaces: type[Brick] | None = None, weight: float = 1.0
) -> Callable[[AnyBrick], AnyBrick]:
    """Register the class below as a brick that can be added by name, as in ``legogcd:prior``.

    >>> from legogcd.bricks import PLUG_INS, MeanEntropy
    >>> @plug_in("flatter", "mean entropy of flatter predictions", replaces=MeanEntropy)
    ... class FlatterMeanEntropy(MeanEntropy):
    ...     pass
    >>> PLUG_INS.pop("flatter").description
    'mean entropy of flatter predictions'
    """
    if not name.isidentifier():
        raise ValueError(f"a brick's name is one word, not {name!r}")
    if name in PLUG_INS:
        raise ValueError(f"there are two bricks called {name!r}")

    def register(brick: AnyBrick) -> AnyBrick:
        settings = brick_settings(brick)
        if "weight" in settings:
            raise ValueError(f"{brick.__name__} has a setting called weight; that is the recipe's word for the term's")
        without = [setting for setting, (_, default) in settings.items() if default is inspect.Parameter.empty]
        if without:
            raise ValueError(f"{brick.__name__}'s setting {without[0]} needs a default, to be added by name")
        PLUG_INS[name] = PlugIn(name, description, brick, replaces, weight)
        return brick

    return register


def brick_settings(brick: type[Brick]) -> dict[str, tuple[Any, Any]]:
    """Type and default of each keyword argument of a brick's constructor.

    >>> from legogcd.bricks import ViewConsistency
    >>> brick_settings(ViewConsistency)
    {'temperature': (<class 'float'>, 1.0)}
    """
    if brick.__init__ is Brick.__init__:  # no constructor of its own: nothing to set
        return {}
    types = get_type_hints(brick.__init__)
    _, *parameters = inspect.signature(brick.__init__).parameters.values()  # without self
    return {parameter.name: (types.get(parameter.name, Any), parameter.default) for parameter in parameters}
