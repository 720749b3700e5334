"""A picture of what was found: one row a category, a few of its images."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from legogcd.collection import Images
from legogcd.collection.images import Item
from legogcd.errors import UnreadableImage
from legogcd.files import replacing
from legogcd.run.discovery import Discovery
from legogcd.vision.decode import read_rgb, resize_shorter

_NAME_WIDTH, _GAP, _MARGIN = 190, 4, 12


def draw_contact_sheet(
    discovery: Discovery,
    images: Images,
    path: Path,
    columns: int = 12,
    tile: int = 56,
    rows: int = 40,
) -> None:
    """Write a PNG: the surest unlabelled images of each category, at most ``rows`` categories, known ones first."""
    groups = [group for group in range(discovery.n_classes) if _members(discovery, group).size][:rows]
    place = {name: number for number, name in enumerate(images.names)}
    width = _NAME_WIDTH + columns * (tile + _GAP) + 2 * _MARGIN
    sheet = Image.new("RGB", (width, len(groups) * (tile + _GAP) + 2 * _MARGIN), "white")
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(14)
    for row, group in enumerate(groups):
        members = _members(discovery, group)
        top = _MARGIN + row * (tile + _GAP)
        name = discovery.class_names[group]
        short = name if len(name) <= 18 else f"{name[:17]}…"
        pen.text((_MARGIN, top + tile // 2 - 18), short, "#0b3d66" if group < len(discovery.known) else "#8a3b00", font)
        kind = "known" if group < len(discovery.known) else "new group"
        pen.text((_MARGIN, top + tile // 2 + 2), f"{kind}, {len(members)} images", "#555555", font)
        for column, member in enumerate(members[np.argsort(-discovery.confidence[members], kind="stable")][:columns]):
            picture = _thumbnail(images.item(place[discovery.names[member]]), tile)
            sheet.paste(picture, (_MARGIN + _NAME_WIDTH + column * (tile + _GAP), top))
    with replacing(path) as temporary:
        sheet.save(temporary, format="PNG")


def _members(discovery: Discovery, group: int) -> np.ndarray:
    return np.flatnonzero((discovery.predicted == group) & (discovery.labels < 0))


def _thumbnail(item: Item, size: int) -> Image.Image:
    try:
        picture = np.asarray(resize_shorter(read_rgb(item, size_hint=size), size))
    except UnreadableImage:
        return Image.new("RGB", (size, size), "#dddddd")
    top, left = ((side - size) // 2 for side in picture.shape[:2])
    return Image.fromarray(picture[top : top + size, left : left + size])
