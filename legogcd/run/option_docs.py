"""Options as a page of documentation has them."""

from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from legogcd.run.options import Options


def described(model: type[Options], indent: int = 0) -> str:
    """Parameters and their meaning as scikit-learn's documentation has them, one entry per field."""
    lines = []
    for name, field in model.model_fields.items():
        lines += [f"{name} : {_kind(field.annotation)}, default={field.get_default()!r}", f"    {field.description}"]
    return "".join(f"{' ' * indent}{line}\n" for line in lines)


def _kind(annotation: Any) -> str:
    """A type in words, as in ``int, 'auto' or None``."""
    if get_origin(annotation) is Literal:
        parts = [repr(value) for value in get_args(annotation)]
        return parts[0] if len(parts) == 1 else f"{{{', '.join(parts)}}}"
    if isinstance(annotation, type):
        return "None" if annotation is type(None) else "path" if annotation is Path else annotation.__name__
    if get_origin(annotation) is dict:
        return "dict"
    *most, last = [_kind(part) for part in get_args(annotation)]
    return f"{', '.join(most)} or {last}"
