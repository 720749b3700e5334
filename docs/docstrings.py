"""Docstrings as the site shows them: examples as code, and the estimator's parameters as its class has them."""

import re
from typing import Any

from griffe import Extension, Object

from legogcd.run.option_docs import described
from legogcd.run.options import RunOptions

EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)


class ReadableDocstrings(Extension):
    """Read by griffe beside the sources, none of which is imported."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is None:
            return
        text = obj.docstring.value.replace("{parameters}\n", described(RunOptions))
        in_sections = "\n--------\n" in text  # of scikit-learn's form, whose examples are found without help
        obj.docstring.value = text if in_sections else fenced(text)


def fenced(text: str) -> str:
    """Examples as blocks of code, up to the next empty line."""
    return EXAMPLE.sub(lambda example: f"```pycon\n{example.group(0)}\n```", text)
