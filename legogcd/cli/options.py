"""Options on the command line: made from their one list in `legogcd.run.options`."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer
from pydantic.fields import FieldInfo
from typer.core import TyperCommand

from legogcd.run.options import GROUP_TITLES, LabelOptions, Options, RunOptions, about, flag_of

Images = Annotated[
    Path,
    typer.Argument(
        metavar="IMAGES",
        help="Folder of images, searched recursively, a .zip or .tar of them, or a URL such as s3://bucket/photos.",
    ),
]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")]
MovedImages = Annotated[Path | None, typer.Option(help="Where the images are now, if they moved since the run.")]
MovedBackbone = Annotated[
    str | None, typer.Option(help="Where the backbone's weights are now, if they moved since the run.")
]


class Sectioned(TyperCommand):
    """A command whose help has its options by what they are about, the everyday ones first."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        fields = LabelOptions.model_fields | RunOptions.model_fields
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        sections |= {title: [] for title in GROUP_TITLES.values()}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                of_run = parameter.name in fields
                title = GROUP_TITLES[about(fields[parameter.name])["group"]] if of_run else "Options"
                sections["Arguments" if parameter.param_type_name == "argument" else title].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class Only:
    """Beside a model of options in an annotation: which of them a command takes; the others keep their defaults.

    ``names`` are groups or single options. An option of ``unset`` is left unset where nobody gives it, so that the
    command can tell and choose by itself.
    """

    def __init__(self, *names: str, unset: tuple[str, ...] = ()) -> None:
        self.names, self.unset = names, unset


def spelled_out(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters of a type like ``RunOptions`` become one option for each of their fields.

    The command is then called with the model, checked; other parameters stay as they are.
    """
    hints = get_type_hints(command, include_extras=True)
    models: dict[str, tuple[type[Options], list[str]]] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        model, only = _model(hints[name])
        if model is None:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        fields = model.chosen(*only.names)
        models[name] = model, list(fields)
        parameters += [_parameter(name, field, name in only.unset) for name, field in fields.items()]

    def spelled(**given: Any) -> None:
        for name, (model, fields) in models.items():
            values = {field: given.pop(field) for field in fields}
            chosen = {field: value for field, value in values.items() if value is not None}
            given[name] = model.given(chosen, on_command_line=True)
        command(**given)

    spelled.__name__, spelled.__doc__ = command.__name__, command.__doc__
    spelled.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    spelled.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return spelled


def _model(hint: Any) -> tuple[type[Options] | None, Only]:
    model, only = hint, Only()
    if get_origin(hint) is Annotated:
        model, *notes = get_args(hint)
        only = next((note for note in notes if isinstance(note, Only)), only)
    return (model if isinstance(model, type) and issubclass(model, Options) else None), only


def _parameter(name: str, field: FieldInfo, unset: bool) -> inspect.Parameter:
    note = typer.Option(flag_of(name, field), help=field.description, metavar=about(field)["metavar"] or None)
    word = str if about(field)["as_text"] else _read_as(field.annotation)
    default = None if unset or word == list[str] else field.default
    annotation: Any = Annotated[word | None if default is None else word, note]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _read_as(annotation: Any) -> Any:
    """The type a shell's word is read as; what is a number or a word is left for the model to read."""
    if get_origin(annotation) is dict:
        return list[str]
    if get_origin(annotation) is Literal or isinstance(annotation, type):
        return annotation
    kinds = [part for part in get_args(annotation) if part is not type(None)]
    return _read_as(kinds[0]) if len(kinds) == 1 else str
