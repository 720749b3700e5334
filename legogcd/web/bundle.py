"""Modules as one script, for a page that is a single file."""

import re
from importlib.resources import files
from pathlib import PurePosixPath

_IMPORT = re.compile(r"^import (?P<names>[^'\"]+?) from ['\"](?P<file>\.[^'\"]+)['\"];$", re.MULTILINE)
_DECLARED = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const|let) (?P<name>\w+))", re.MULTILINE)
_LISTED = re.compile(r"^export \{(?P<names>[^}]+)\};$", re.MULTILINE)
_DEFAULT = re.compile(r"^export default ", re.MULTILINE)


def text_file(path: str) -> str:
    """A text file of the package, by its path below ``legogcd``."""
    return files("legogcd").joinpath(*PurePosixPath(path).parts).read_text("utf-8").replace("\r\n", "\n")


def bundled_script(entry: str) -> str:
    """The module ``entry`` (a path below ``legogcd``) and all it imports as one script, comments left out.

    Each module becomes a function that is called once, so names of one never meet those of another. What modules may
    write is what ours and the vendored ones do: ``import … from "./file.js";`` on one line, and ``export`` at the start
    of a line.
    """
    order: list[str] = []
    _visit(entry, order, [])
    parts = [_as_function(path, order) for path in order]
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "\n})();\n"


def _visit(path: str, order: list[str], above: list[str]) -> None:
    """Put the modules that ``path`` needs, then itself, into ``order``."""
    if path in above:
        raise ValueError(f"modules import each other in a circle: {' → '.join([*above, path])}")
    if path in order:
        return
    for imported in _IMPORT.finditer(text_file(path)):
        _visit(_target(path, imported["file"]), order, [*above, path])
    order.append(path)


def _target(path: str, link: str) -> str:
    """The module that ``link`` in ``path`` means.

    >>> _target("report/page/page.js", "../../web/dom.js")
    'web/dom.js'
    """
    parts: list[str] = list(PurePosixPath(path).parent.parts)
    for part in PurePosixPath(link).parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _as_function(path: str, order: list[str]) -> str:
    text = without_comments(text_file(path))
    exported = [match["name"] for match in _DECLARED.finditer(text)]
    names = {name: name for name in exported}
    for match in _LISTED.finditer(text):
        names.update(_pairs(match["names"]))
    text = _LISTED.sub("", _DECLARED.sub("", text))
    if _DEFAULT.search(text):
        text = _DEFAULT.sub("const defaultExport = ", text)
        names["default"] = "defaultExport"
    text = _IMPORT.sub(lambda match: _local(match["names"], order.index(_target(path, match["file"]))), text)
    listed = ", ".join(f"{outside}: {inside}" for outside, inside in names.items())
    return f"const module{order.index(path)} = (() => {{\n{text.strip()}\nreturn {{ {listed} }};\n}})();"


def _pairs(listed: str) -> dict[str, str]:
    """Names outside and inside of an export list.

    >>> _pairs("a, b as c")
    {'a': 'a', 'c': 'b'}
    """
    words = [entry.split() for entry in listed.split(",") if entry.strip()]
    return {entry[-1]: entry[0] for entry in words}


def _local(names: str, number: int) -> str:
    if names.startswith("{"):
        wanted = ", ".join(f"{inside}: {name}" for name, inside in _pairs(names.strip("{} ")).items())
        return f"const {{ {wanted} }} = module{number};"
    return f"const {names.strip()} = module{number}.default;"


def without_comments(text: str) -> str:
    r"""The text without comments that have lines to themselves.

    >>> without_comments("/* a\n   b */\nlet c = 1; // d\n// e\n/* f */ g();\n")
    'let c = 1; // d\n/* f */ g();'
    """
    kept, inside = [], False
    for line in text.splitlines():
        start = line.strip()
        if inside:
            inside = not start.endswith("*/")
        elif start.startswith("/*") and ("*/" not in start or start.endswith("*/")):
            inside = "*/" not in start
        elif start and not start.startswith("//"):
            kept.append(line)
    return "\n".join(kept)
