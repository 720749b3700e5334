"""Recipes made of bricks. A method's name says what is in it.

>>> list(METHODS)[:3]
['kmeans', 'sskmeans', 'gcd']
>>> method = build_method("simgcd+ler", dim=8, n_classes=6, n_known=3)
>>> sorted(method.bricks)
['info_nce', 'ler', 'mean_entropy', 'self_distillation', 'sup_con', 'supervised_ce']
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from legogcd.errors import UserError
from legogcd.methods.base import Method
from legogcd.methods.baselines.gcd import GCD, GCDRecipe
from legogcd.methods.baselines.kmeans import KMeans, KMeansRecipe, SemiSupervisedKMeans
from legogcd.methods.baselines.orca import ORCA, ORCARecipe
from legogcd.methods.baselines.rankstats import RankStats, RankStatsRecipe
from legogcd.methods.baselines.uno import UNO, UNORecipe
from legogcd.methods.plug_ins import PLUG_INS, plug_in_names
from legogcd.methods.recipe import ParametricRecipe, Recipe
from legogcd.methods.simgcd import LEGOGCD, build_simgcd
from legogcd.vision.backbones import family_defaults


@dataclass(frozen=True)
class Entry:
    """A method by name: what it is, its settings, how it is made (dim, n_classes, n_known, recipe), ours for photos."""

    description: str
    recipe: type[Recipe]
    build: Callable[..., Method]
    for_photos: Mapping[str, Any] = field(default_factory=dict)


_EASY = {"start": "kmeans", "learning_rate": 0.05, "beta": 1.0, "threshold": 0.85, "dkl_form": "released"}


def _simgcd(name: str, description: str, plug_ins: Sequence[str] = ()) -> Entry:
    return Entry(description, ParametricRecipe, partial(build_simgcd, name, plug_ins), _EASY)


METHODS: dict[str, Entry] = {
    "kmeans": Entry("k-means on the untrained features; trains nothing", KMeansRecipe, KMeans),
    "sskmeans": Entry(
        "semi-supervised k-means on the untrained features; trains nothing", KMeansRecipe, SemiSupervisedKMeans
    ),
    "gcd": Entry(
        "GCD (CVPR 2022): contrastive terms, then semi-supervised k-means", GCDRecipe, GCD, {"learning_rate": 0.02}
    ),
    "rankstats": Entry(
        "RankStats+: pairs by their strongest feature dimensions",
        RankStatsRecipe,
        RankStats,
        {"start": "kmeans", "learning_rate": 0.001},
    ),
    "uno": Entry("UNO+: several heads, balanced pseudo-labels, swapped prediction", UNORecipe, UNO),
    "orca": Entry(
        "ORCA (ICLR 2022): neighbor pairs, uncertainty-adaptive margin",
        ORCARecipe,
        ORCA,
        {"start": "kmeans", "learning_rate": 0.05},
    ),
    **{
        name: _simgcd(name, description)
        for name, description in {
            "simgcd": "SimGCD (ICCV 2023): contrastive terms, supervised CE, self-distillation, mean entropy",
            "simgcd+dkl": "SimGCD and the dual-view KL constraint",
            "simgcd+ler": "SimGCD and local entropy regularisation, no margin",
            "simgcd+ler+map": "SimGCD and local entropy regularisation with the margin-aware pattern",
            "legogcd": "LegoGCD (CVPR 2024) as its paper says: SimGCD + LER + MAP + DKL",
            "legogcd-released": "LegoGCD as its released code computes it (double softmax, margin of the other sign)",
        }.items()
    },
    "legogcd+": Entry(
        "ours: LegoGCD behind whitened features, views distilled from their average, an estimated class prior",
        ParametricRecipe,
        partial(build_simgcd, "legogcd", ["prior", "consensus"]),
        _EASY | {"whitened_dim": None, "dkl_form": "paper"},
    ),
}


def check_method(name: str) -> str:
    """The name itself, or its short form where the parts are spelled out; unknown names are the user's mistake.

    >>> check_method("simgcd+map+dkl+ler"), check_method("legogcd+separate+prior")
    ('legogcd', 'legogcd+prior+separate')
    """
    if name in METHODS:
        return name
    base, plug_ins = _parts(name)
    if base not in METHODS or METHODS[base].recipe is not ParametricRecipe:
        raise UserError(f"unknown method {name!r}; there are: {', '.join(METHODS)}")
    return "+".join([base, *plug_in_names(plug_ins)])


def method_entry(name: str) -> Entry:
    """What is known of a method, listed or put together by name."""
    name = check_method(name)
    if name in METHODS:
        return METHODS[name]
    base, plug_ins = _parts(name)
    described = "; ".join([METHODS[base].description, *(PLUG_INS[plug_in].description for plug_in in plug_ins)])
    return _simgcd(base, described, plug_ins)


def _parts(name: str) -> tuple[str, list[str]]:
    """A listed method and the plug-ins behind it."""
    head, *rest = name.split("+")
    steps = [step for step in ("ler", "map", "dkl") if step in rest]
    base = "+".join([head, *steps])
    return "legogcd" if base == LEGOGCD else base, [part for part in rest if part not in steps]


def build_method(name: str, dim: int, n_classes: int, n_known: int, recipe: Recipe | None = None) -> Method:
    """A method by name for features of ``dim``, with the published recipe unless another is given."""
    name = check_method(name)
    recipe = recipe or published_recipe(name)
    entry = method_entry(name)
    if not isinstance(recipe, entry.recipe):
        raise TypeError(f"{name} takes a {entry.recipe.__name__}, not a {type(recipe).__name__}")
    return entry.build(dim, n_classes, n_known, recipe)


def published_recipe(name: str) -> Recipe:
    """A method's settings as published; where they depend on the data set, CUB's."""
    return method_entry(name).recipe()


def default_recipe(name: str, family: str) -> Recipe:
    """Our settings for people with photos, by method and backbone family, found by measurement (docs/results.md)."""
    entry = method_entry(name)
    return entry.recipe().with_settings({**family_defaults(family), **entry.for_photos})
