"""JSON that holds any name."""

import json
from typing import Any


def json_bytes(content: Any, indent: int | None = None) -> bytes:
    """UTF-8 JSON with a line end; bytes of a file name that are not UTF-8 are escapes, as Python's json reads them.

    >>> json_bytes("caf\\udce9")
    b'"caf\\\\udce9"\\n'
    """
    return json.dumps(content, ensure_ascii=False, indent=indent).encode("utf-8", "backslashreplace") + b"\n"
