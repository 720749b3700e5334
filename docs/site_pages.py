"""What the site adds to the pages: the table of run options; links to files it does not hold become text."""

import re
from pathlib import Path
from typing import Any

from mkdocs.plugins import get_plugin_logger

from legogcd.run.options import LabelOptions, Options, RunOptions, about, flag_of

REPOSITORY = Path(__file__).parent.parent
OUT_OF_DOCS = re.compile(r"\[([^\]]+)\]\((?:\.\./)+([^)#]+)(?:#[^)]*)?\)")
log = get_plugin_logger("site_pages")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Called by MkDocs for every page, before it becomes HTML."""
    for model in (RunOptions, LabelOptions):
        marker = f"<!-- table of {model.__name__} -->"
        if marker in markdown:
            markdown = markdown.replace(marker, options_table(model))
    return OUT_OF_DOCS.sub(lambda link: _file_of_repository(link, page.file), markdown)


def options_table(model: type[Options]) -> str:
    """One row per option: its name in Python, on the command line, its default and its meaning."""
    rows = ["| in Python | on the command line | default | |", "|---|---|---|---|"]
    for name, field in model.model_fields.items():
        default = "" if field.get_default() is None else f"`{field.get_default()!r}`"
        metavar = f" {about(field)['metavar']}" if about(field)["metavar"] else ""
        flag = f"{flag_of(name, field)}{metavar}".replace("|", "\\|")
        rows.append(f"| `{name}` | `{flag}` | {default} | {field.description} |")
    return "\n".join(rows)


def _file_of_repository(link: re.Match[str], file: Any) -> str:
    """A link to a file beside docs/ as its text alone: the site does not hold it. One to nowhere is a warning."""
    text, target = link.groups()
    page = REPOSITORY / "docs" / file.src_uri
    there = (page.parent / link.group(0).split("](", 1)[1].rstrip(")").split("#")[0]).resolve()
    if there.is_relative_to(REPOSITORY / "docs"):
        return link.group(0)
    if not there.exists():
        log.warning("%s links to %s, which is not in the repository", file.src_uri, target)
    return text
