"""One folder per category, the images in it: what image viewers, torchvision's ImageFolder and Keras read."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from legogcd.export.format import Settings, Written, export_format
from legogcd.export.items import Item, Selection
from legogcd.export.naming import distinct, folder_names
from legogcd.export.placing import place
from legogcd.wording import counted, some_of


@export_format("folders", "one folder per category, with links to the images", places_images=True)
def write_folders(selection: Selection, out: Path, settings: Settings) -> Written:
    names = folder_names(selection.categories)
    files = sorted_into(selection.items, out, names)
    placed = place(files, settings.link, settings.progress)
    return Written((*placed.notes, *renamed(names)), refused=placed.refused)


def sorted_into(items: Iterable[Item], out: Path, names: dict[str, str]) -> list[tuple[Item, Path]]:
    """Each image and its place in the folder of its category; equal file names in one category are numbered."""
    groups: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        groups[item.category].append(item)
    return [
        (item, out / names[category] / name)
        for category, group in groups.items()
        for item, name in zip(group, distinct([_file_name(item) for item in group], before_suffix=True), strict=True)
    ]


def renamed(names: dict[str, str]) -> tuple[str, ...]:
    """A line on the categories whose folder could not bear their name."""
    changed = [f"{category} → {folder}" for category, folder in sorted(names.items()) if category != folder]
    return (f"{counted(len(changed), 'folder')} not named as the category: {some_of(changed, 3)}",) if changed else ()


def _file_name(item: Item) -> str:
    return PurePosixPath(item.name).name
