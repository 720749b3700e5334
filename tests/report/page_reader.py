"""A page as a test reads it."""

import json
from html.parser import HTMLParser
from typing import Any


class Reader(HTMLParser):
    """Elements and attributes of a page, the text people see, and the data in its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text, self.scripts = "", []  # type: str, list[tuple[dict[str, str | None], str]]
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag if tag in ("script", "style") else ""

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts.append((self.tags[-1][1], data))
        elif not self._inside:
            self.text += data

    def json(self, identifier: str) -> Any:
        return json.loads(next(text for attributes, text in self.scripts if attributes.get("id") == identifier))
