"""A fitted model in a notebook: every class and group with its surest images, in one piece of HTML."""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from PIL import Image

from legogcd.collection import Images
from legogcd.errors import UnreadableImage
from legogcd.run.discovery import Discovery
from legogcd.vision.decode import read_rgb, resize_shorter
from legogcd.wording import counted

_SIDE = 64
_MOST_GROUPS, _MOST_PICTURES = 40, 8
_CELL = '<td style="text-align:left">'
_ROW = f"<tr>{_CELL}{{name}}<br><small>{{what}}</small></td>{_CELL}{{pictures}}</td></tr>"
_PICTURE = '<img width="{side}" height="{side}" alt="" src="data:image/jpeg;base64,{data}">'


@dataclass(frozen=True)
class GroupPictures:
    """A class or group: what it is called, what it is, and its surest images as JPEG in base64."""

    name: str
    what: str
    pictures: tuple[str, ...]


def group_pictures(found: Discovery, categories: np.ndarray, images: Images | None) -> list[GroupPictures]:
    """Of every category of a run, the largest first among the known and among the new, its surest images.

    ``categories`` are those of all images that were given. Without ``images`` there are no pictures.
    """
    row_of = {name: row for row, name in enumerate(images.names)} if images is not None else {}
    shown_as = (
        dict(zip(row_of, categories.tolist(), strict=True))
        if row_of
        else dict(zip(found.names, categories.tolist(), strict=False))
    )
    members: dict[str, list[int]] = {}
    for number, name in enumerate(found.names):
        members.setdefault(str(shown_as[name]), []).append(number)
    is_known = {str(shown_as[name]): status != "novel" for name, status in zip(found.names, found.status, strict=True)}
    ordered = sorted(members, key=lambda name: (not is_known[name], -len(members[name]), name))
    made = []
    for name in ordered[:_MOST_GROUPS]:
        surest = sorted(members[name], key=lambda number: -found.confidence[number])[:_MOST_PICTURES]
        rows = [row_of[found.names[number]] for number in surest] if row_of else []
        what = f"{'known' if is_known[name] else 'new group'}, {counted(len(members[name]), 'image')}"
        made.append(GroupPictures(name, what, _pictures(images, rows)))
    return made


def found_html(words: str, groups: Sequence[GroupPictures]) -> str:
    """The table a notebook shows under what the model says of itself."""
    rows = "".join(
        _ROW.format(
            name=escape(group.name),
            what=escape(group.what),
            pictures="".join(_PICTURE.format(side=_SIDE, data=data) for data in group.pictures),
        )
        for group in groups
    )
    return f"<pre>{escape(words)}</pre><table>{rows}</table>"


def _pictures(images: Images | None, rows: Sequence[int]) -> tuple[str, ...]:
    made = []
    for row in rows:
        assert images is not None
        try:
            pixels = resize_shorter(read_rgb(images.item(row), size_hint=_SIDE), _SIDE)
        except UnreadableImage:
            continue
        top, left = ((side - _SIDE) // 2 for side in pixels.shape[:2])
        packed = io.BytesIO()
        Image.fromarray(pixels[top : top + _SIDE, left : left + _SIDE]).save(packed, format="JPEG", quality=80)
        made.append(base64.b64encode(packed.getvalue()).decode())
    return tuple(made)
