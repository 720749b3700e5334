"""A method's name cannot be misread, and whatever is not understood ends in one line with the right spelling."""

import pytest

from legogcd.errors import UserError
from legogcd.methods import METHODS, Method, Recipe, build_method, check_method, method_entry, register, split_methods


@pytest.mark.parametrize("name", METHODS)
def test_every_listed_name_is_its_own_and_can_be_built(name: str) -> None:
    assert check_method(name) == name
    assert type(build_method(name, dim=4, n_classes=5, n_known=2)) is METHODS[name].method
    assert METHODS[name].description


def test_the_order_of_the_list_is_that_of_the_papers_tables() -> None:
    baselines = ["kmeans", "sskmeans", "gcd", "rankstats", "uno", "orca"]
    steps = ["simgcd", "simgcd+dkl", "simgcd+ler", "simgcd+ler+map", "legogcd", "legogcd-released"]
    assert list(METHODS) == [*baselines, *steps, "legogcd+"]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("simgcd+map+dkl+ler", "legogcd"),
        ("simgcd+ler+map+dkl", "legogcd"),
        ("simgcd+map+ler", "simgcd+ler+map"),
        ("legogcd:prior,consensus", "legogcd:consensus,prior"),
        ("legogcd:prior, prior", "legogcd:prior"),
        ("simgcd+map+ler+dkl:prior", "legogcd:prior"),
        ("simgcd+map+ler:consensus", "simgcd+ler+map:consensus"),
    ],
)
def test_other_spellings_of_the_same(given: str, meant: str) -> None:
    assert check_method(given) == meant


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("simgdc", "unknown method 'simgdc'; there are: kmeans, .*legogcd:prior: classwise, consensus, .*, prior$"),
        ("legogcd+prior", "unknown method 'legogcd.prior'; write legogcd:prior; there are: kmeans, "),
        ("simgcd+prior+ler+consensus", "write simgcd.ler:prior,consensus; there are"),
        ("legogcd+anchor", "unknown method 'legogcd.anchor'; there are: "),
        ("legogcd+map", "unknown method 'legogcd.map'; there are"),
        ("legogcd+ler", "unknown method"),
        ("simgcd+map", "unknown method"),
        ("simgcd+ler+ler+map", "unknown method"),
        ("simgcd+", "unknown method"),
        ("", "unknown method ''"),
        (":prior", "unknown method ':prior'"),
        ("legogcd:", "unknown brick '' in 'legogcd:'; there are: classwise, consensus, .*, prior$"),
        ("legogcd:anchor", "unknown brick 'anchor' in 'legogcd:anchor'; there are: classwise, consensus, .*, prior$"),
        ("kmeans:prior", "kmeans takes no extra bricks; these do: simgcd, .*, legogcd.$"),
        ("legogcd+:prior", "legogcd.:prior: prior is in it already"),
    ],
)
def test_what_is_not_understood(given: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        check_method(given)
    assert "\n" not in str(caught.value)


def test_a_list_of_names_keeps_bricks_with_their_method() -> None:
    given = "kmeans,simgcd:prior,consensus, legogcd+ ,legogcd:consensus"
    assert split_methods(given) == ["kmeans", "simgcd:prior,consensus", "legogcd+", "legogcd:consensus"]
    assert split_methods(" , ") == []
    assert split_methods("simgcd,prior") == ["simgcd", "prior"]  # for check_method to refuse


def test_a_method_is_registered_where_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("legogcd.methods.registry.METHODS", dict(METHODS))

    class Idle(Method):
        def __init__(self, dim: int, n_classes: int, n_known: int, recipe: Recipe) -> None:
            super().__init__()
            self.shape = (dim, n_classes, n_known)

    register("idle", "does nothing", Recipe, Idle, for_photos={"epochs": 1})
    method = build_method("idle", 4, 5, 2)
    assert isinstance(method, Idle)
    assert method.shape == (4, 5, 2)
    assert method_entry("idle").description == "does nothing"
    with pytest.raises(ValueError, match="two methods called 'idle'"):
        register("idle", "again", Recipe, Idle)
    with pytest.raises(ValueError, match="a colon, a comma or a space"):
        register("idle:twice", "misread", Recipe, Idle)


def test_a_recipe_that_says_more_than_the_name_is_refused() -> None:
    with pytest.raises(TypeError, match="legogcd takes a ParametricRecipe, not a ParametricRecipe:prior"):
        build_method("legogcd", 4, 5, 2, method_entry("legogcd:prior").recipe())
