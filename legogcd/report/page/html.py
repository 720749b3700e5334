"""The page's template with its style and script inside, escaped and closed off from any network."""

import base64
import hashlib
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from legogcd.report.page.visible_text import visible
from legogcd.web import bundled_script, text_file


def render_page(**content: Any) -> str:
    """The template filled in. Text is escaped, and control characters in it are made visible."""
    style = text_file("web/base.css") + text_file("report/page/page.css")
    script = bundled_script("report/page/page.js")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_finalized
    )
    template = environment.from_string(text_file("report/page/page.html.jinja"))
    return template.render(policy=_policy(style, script), style=Markup(style), script=Markup(script), **content)


def _finalized(value: Any) -> Any:
    """Every value on its way into the page; Markup is ours, any other text may be a file name."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _policy(style: str, script: str) -> str:
    """Only this style, this script, and pictures inside the page or on this disk; no connection anywhere.

    The map library makes an empty style element and fills it rule by rule, so that of no text is allowed, too.
    """

    def source(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; img-src data: file:; style-src {source(style)} {source('')}; "
        f"script-src {source(script)}; base-uri 'none'; form-action 'none'"
    )
