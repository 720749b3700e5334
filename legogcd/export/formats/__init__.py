"""One file per format; every file in this folder is found, and so are the formats it registers."""

from importlib import import_module
from pkgutil import iter_modules

from legogcd.export.format import Format, registered


def find_formats() -> dict[str, Format]:
    """The formats of this folder, by their files' names: those that many programs read, then those of one tool."""
    for module in iter_modules(__path__, f"{__name__}."):
        import_module(module.name)
    ordered = sorted(registered.values(), key=lambda each: (each.defined_at is not None, each.write.__module__))
    return {chosen.name: chosen for chosen in ordered}


FORMATS = find_formats()
"""Every format by the name that ``--to`` takes."""
