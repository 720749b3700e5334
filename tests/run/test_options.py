"""One list of options: the command line, Python, config.json and "repeat this run" all say the same."""

import inspect
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from legogcd import LegoGCD
from legogcd.cli.options import Only, spelled_out
from legogcd.errors import UserError
from legogcd.run.options import RunOptions, about

OTHERS: dict[str, st.SearchStrategy[Any]] = {
    "n_classes": st.integers(2, 500),
    "method": st.sampled_from(["simgcd", "legogcd+"]),
    "recipe": st.sampled_from(["default", "paper", "cub"]),
    "effort": st.sampled_from(["quick", "normal", "thorough"]),
    "epochs": st.none() | st.integers(1, 300),
    "start": st.sampled_from([None, "random", "kmeans"]),
    "sizes": st.sampled_from([None, "prior", "equal", "free"]),
    "settings": st.dictionaries(st.sampled_from(["beta", "threshold"]), st.sampled_from(["1", "0.5"])),
    "held_out": st.floats(0, 0.9),
    "near_duplicates": st.sampled_from(["as-one", "apart"]),
    "seed": st.integers(0, 10**6),
    "backbone": st.sampled_from([None, "efficientnet-lite0", "some folder/it's"]),
    "image_size": st.integers(32, 512),
    "train_blocks": st.integers(1, 12),
    "views": st.none() | st.integers(2, 64) | st.just("fresh"),
    "cache": st.none() | st.just(Path("a cache")),
    "disk_budget": st.none() | st.integers(1, 10**12),
    "recognize": st.sampled_from(["time", "content"]),
    "kept_dtype": st.sampled_from(["bf16", "fp16", "fp32", "int8"]),
    "decode": st.sampled_from([None, "fast", "full"]),
    "device": st.sampled_from(["auto", "cpu"]),
    "precision": st.sampled_from(["auto", "fp32"]),
    "threads": st.none() | st.integers(1, 64),
    "train_on": st.none() | st.integers(2, 10**8),
    "engine": st.sampled_from(["local", "ray"]),
    "ray_address": st.none() | st.just("head:6379"),
    "workers": st.integers(1, 64),
}


def read_back(words: list[str], only: Only | None = None) -> RunOptions:
    """The options a command gets from words on its command line."""
    found: list[RunOptions] = []

    def command(options: Annotated[RunOptions, only or Only()]) -> None:
        found.append(options)

    command.__annotations__["options"] = Annotated[RunOptions, only or Only()]
    app = typer.Typer()
    app.command()(spelled_out(command))
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return found[0]


@settings(max_examples=40, deadline=None)
@given(st.fixed_dictionaries(OTHERS))
def test_the_words_that_repeat_a_run_give_its_options_back(values: dict[str, Any]) -> None:
    options = RunOptions.given(values)
    again = read_back(shlex.split(" ".join(options.words())))
    unrecorded = {name for name, field in RunOptions.model_fields.items() if not about(field)["recorded"]}
    assert again.model_dump(exclude=unrecorded) == options.model_dump(exclude=unrecorded)


def test_every_option_was_tried() -> None:
    assert set(OTHERS) == set(RunOptions.model_fields)


@given(st.fixed_dictionaries(OTHERS))
@settings(max_examples=20, deadline=None)
def test_what_config_json_keeps_is_read_back(values: dict[str, Any]) -> None:
    options = RunOptions.given(values)
    again = RunOptions.given(json.loads(json.dumps(options.recorded())))
    assert again.recorded() == options.recorded()


def test_nothing_given_is_the_default_everywhere() -> None:
    assert read_back([]) == RunOptions()
    estimator = LegoGCD()
    assert {name: getattr(estimator, name) for name in RunOptions.model_fields} == RunOptions().model_dump()


def test_a_command_with_some_options_takes_no_others() -> None:
    assert read_back(["--seed", "3"], Only("seed")).seed == 3
    app = typer.Typer()

    @app.command()
    @spelled_out
    def command(options: Annotated[RunOptions, Only("seed")]) -> None: ...

    assert CliRunner().invoke(app, ["--views", "3"]).exit_code == 2


def test_an_option_left_unset_can_be_told_from_its_default() -> None:
    only = Only("image_size", unset=("image_size",))
    assert "image_size" not in read_back([], only).model_fields_set
    assert "image_size" in read_back(["--image-size", "224"], only).model_fields_set


@pytest.mark.parametrize(
    ("name", "value", "flag", "reason"),
    [
        ("views", "1", "--views 1", "from 2 up"),
        ("disk_budget", "many", "--disk-budget many", "like 20GB"),
        ("settings", ["beta"], "--set beta", "NAME=VALUE"),
        ("n_classes", "some", "--classes some", "a number, or auto"),
        ("threads", 0, "--threads 0", "expected 1 or more"),
        ("held_out", 1.0, "--held-out 1.0", "less than 1"),
    ],
)
def test_a_mistake_names_the_option_as_it_was_written(name: str, value: Any, flag: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason) as on_command_line:
        RunOptions.given({name: value}, on_command_line=True)
    assert str(on_command_line.value).startswith(flag)
    with pytest.raises(UserError, match=f"^{name} = "):
        RunOptions.given({name: value})


def test_the_estimator_documents_and_takes_every_option() -> None:
    parameters = inspect.signature(LegoGCD).parameters
    assert list(parameters) == [*RunOptions.model_fields, "verbose"]
    for name, field in RunOptions.model_fields.items():
        assert parameters[name].default == field.get_default()
        assert field.description
        assert field.description in (LegoGCD.__doc__ or "")
    with pytest.raises(TypeError, match="unexpected parameter 'classes'"):
        LegoGCD(classes=3)


def test_help_shows_each_option_with_its_default(run_cli: Callable[..., Any]) -> None:
    shown = " ".join(run_cli("discover", "--help").stdout.split())
    for field in RunOptions.model_fields.values():
        assert " ".join(str(field.description).split())[:40] in shown
