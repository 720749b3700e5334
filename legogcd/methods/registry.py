"""Methods by name. A method's recipe registers it; everything that lists, describes or builds methods reads `METHODS`.

What a name means is said here without torch; the class is loaded when a method is built.

>>> list(METHODS)[:3]
['kmeans', 'sskmeans', 'gcd']
>>> method = build_method("simgcd+ler", dim=8, n_classes=6, n_known=3)
>>> sorted(method.bricks)
['info_nce', 'ler', 'mean_entropy', 'self_distillation', 'sup_con', 'supervised_ce']
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from legogcd.errors import UserError
from legogcd.late_objects import late
from legogcd.methods.plug_in import PLUG_INS
from legogcd.methods.plugged_recipe import plugged_recipe
from legogcd.methods.recipe import ParametricRecipe, Recipe
from legogcd.methods.terms import Terms, plugged_terms

if TYPE_CHECKING:
    from legogcd.methods.base import Method


@dataclass(frozen=True)
class Entry:
    """A method by name: what it is, its recipe's class and its own, and the settings that differ by use.

    ``terms`` say what the loss of a `Parametric` is made of; such a method takes extra bricks. ``for_photos`` are our
    settings for anyone's photos, ``published_for`` the published ones of single data sets. ``departures`` say in what
    ours differs from the published method also with its published recipe.
    """

    description: str
    recipe: type[Recipe]
    made_by: "type[Method] | str"
    terms: Terms | None = None
    for_photos: Mapping[str, Any] = field(default_factory=dict)
    published_for: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    departures: tuple[str, ...] = ()

    @property
    def method(self) -> "type[Method]":
        """The class."""
        loaded: type[Method] = late(self.made_by)
        return loaded


METHODS: dict[str, Entry] = {}
_SPELLED_OUT: dict[frozenset[str], str] = {}  # the parts of a name, whatever their order, and the name


def register(
    name: str,
    description: str,
    recipe: type[Recipe],
    method: "type[Method] | str",
    *,
    terms: Terms | None = None,
    for_photos: Mapping[str, Any] | None = None,
    published_for: Mapping[str, Mapping[str, Any]] | None = None,
    departures: tuple[str, ...] = (),
    spelled_out: str | None = None,
) -> None:
    """Let a method be called by name.

    ``method`` is its class, or ``module:name`` to load it when it is needed; it is built as ``method(dim, n_classes,
    n_known, recipe)``, and with the terms of its loss behind that if ``terms`` are given. ``spelled_out`` names the
    same method by its parts, which may stand in any order.
    """
    if name in METHODS:
        raise ValueError(f"there are two methods called {name!r}")
    if not set(name).isdisjoint(":, "):
        raise ValueError(f"a colon, a comma or a space in {name!r}: these part a method's name from its extra bricks")
    METHODS[name] = Entry(description, recipe, method, terms, for_photos or {}, published_for or {}, departures)
    parts = (spelled_out or name).split("+")
    if len(parts) > 1 and all(parts):
        _SPELLED_OUT[frozenset(parts)] = name


def check_method(name: str) -> str:
    """A method's name as it is listed, extra bricks in alphabetical order; an unknown one is the user's mistake.

    >>> check_method("simgcd+map+dkl+ler"), check_method("simgcd:prior,consensus")
    ('legogcd', 'simgcd:consensus,prior')
    """
    method, bricks = _parse(name)
    return f"{method}:{','.join(bricks)}" if bricks else method


def method_entry(name: str) -> Entry:
    """What is known of a method, with the bricks that its name adds."""
    method, bricks = _parse(name)
    entry = METHODS[method]
    if not bricks or not issubclass(entry.recipe, ParametricRecipe):
        return entry
    described = "; ".join([entry.description, *(PLUG_INS[brick].description for brick in bricks)])
    return replace(entry, description=described, recipe=_with_bricks(entry.recipe, bricks))


def build_method(name: str, dim: int, n_classes: int, n_known: int, recipe: Recipe | None = None) -> "Method":
    """A method by name for features of ``dim``, with the published recipe unless another is given."""
    entry = method_entry(name)
    recipe = recipe or entry.recipe()
    if type(recipe) is not entry.recipe:
        raise TypeError(f"{name} takes a {entry.recipe.__name__}, not a {type(recipe).__name__}")
    build: Any = entry.method
    terms = [plugged_terms(entry.terms, recipe)] if entry.terms and isinstance(recipe, ParametricRecipe) else []
    method: Method = build(dim, n_classes, n_known, recipe, *terms)
    return method


def split_methods(text: str) -> list[str]:
    """Names with commas between; a brick behind a comma belongs to the name before it.

    >>> split_methods("kmeans, simgcd:prior,consensus, legogcd+")
    ['kmeans', 'simgcd:prior,consensus', 'legogcd+']
    """
    names: list[str] = []
    for part in filter(None, map(str.strip, text.split(","))):
        if part in PLUG_INS and names and ":" in names[-1]:
            names[-1] += f",{part}"
        else:
            names.append(part)
    return names


def _parse(name: str) -> tuple[str, tuple[str, ...]]:
    """The one place where names are read: a listed method, and the bricks behind a colon in alphabetical order."""
    spelled, colon, rest = name.partition(":")
    method = spelled if spelled in METHODS else _SPELLED_OUT.get(_parts(spelled))
    if method is None:
        raise UserError(_unknown(name))
    bricks = tuple(sorted({brick.strip() for brick in rest.split(",")})) if colon else ()
    unknown = [brick for brick in bricks if brick not in PLUG_INS]
    if unknown:
        raise UserError(f"unknown brick {unknown[0]!r} in {name!r}; there are: {', '.join(sorted(PLUG_INS))}")
    if bricks:
        _check_fit(method, bricks)
    return method, bricks


def _check_fit(method: str, bricks: tuple[str, ...]) -> None:
    """Raise where a method does not take the bricks, before anything long begins."""
    entry = METHODS[method]
    if entry.terms is None or not issubclass(entry.recipe, ParametricRecipe):
        takers = [name for name, other in METHODS.items() if other.terms]
        raise UserError(f"{method} takes no extra bricks; these do: {', '.join(takers)}")
    try:
        plugged_terms(entry.terms, _with_bricks(entry.recipe, bricks)())
    except UserError as mistake:
        raise UserError(f"{method}:{','.join(bricks)}: {mistake}") from None


def _with_bricks(recipe: type[ParametricRecipe], bricks: tuple[str, ...]) -> type[ParametricRecipe]:
    return plugged_recipe(recipe, tuple(PLUG_INS[brick] for brick in bricks))


def _parts(name: str) -> frozenset[str]:
    """The parts of a spelled-out name; none where one stands there twice."""
    parts = name.split("+")
    return frozenset(parts) if len(set(parts)) == len(parts) else frozenset()


def _unknown(name: str) -> str:
    """One line: the right spelling where bricks were added with a plus, and what there is."""
    head, *parts = name.replace(":", "+").replace(",", "+").split("+")
    bricks = [part for part in parts if part in PLUG_INS]
    rest = "+".join([head, *(part for part in parts if part not in PLUG_INS)])
    right = f"write {rest}:{','.join(bricks)}; " if bricks and (rest in METHODS or _parts(rest) in _SPELLED_OUT) else ""
    return (
        f"unknown method {name!r}; {right}there are: {', '.join(METHODS)}; "
        f"bricks to add, as in legogcd:prior: {', '.join(sorted(PLUG_INS))}"
    )
