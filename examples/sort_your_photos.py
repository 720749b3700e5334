"""A folder of pictures from first labels to the next round: sort, name a group, confirm it, sort again.

The pictures are drawn here, so that the script needs nothing: four shapes, two of them known to you. With photos of
your own, replace `draw_pictures` by their folder.

    python examples/sort_your_photos.py
"""

import tempfile
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from legogcd import LegoGCD
from legogcd.edits import Name
from legogcd.run.categories import append_edit, confirmation, confirmed_labels, current

SHAPES = ("disc", "square", "cross", "stripes")


def draw_pictures(folder: Path, per_shape: int = 24) -> list[Path]:
    """Gray shapes at random places."""
    random = np.random.default_rng(0)
    for shape in SHAPES:
        for number in range(per_shape):
            picture = Image.new("RGB", (96, 96), (235, 235, 235))
            draw = ImageDraw.Draw(picture)
            x, y = (int(value) for value in random.integers(8, 32, 2))
            if shape == "disc":
                draw.ellipse((x, y, x + 55, y + 55), fill=(40, 70, 160))
            elif shape == "square":
                draw.rectangle((x, y, x + 50, y + 50), fill=(170, 60, 40))
            elif shape == "cross":
                draw.line((x, y, x + 55, y + 55), fill=(20, 120, 60), width=12)
                draw.line((x + 55, y, x, y + 55), fill=(20, 120, 60), width=12)
            else:
                for offset in range(0, 60, 12):
                    draw.line((x, y + offset, x + 58, y + offset), fill=(90, 90, 90), width=4)
            picture.save(folder / f"{shape}-{number:02d}.png")
    return sorted(folder.iterdir())


with tempfile.TemporaryDirectory() as home:
    photos, run = Path(home) / "photos", Path(home) / "run"
    photos.mkdir()
    paths = draw_pictures(photos)

    # You know discs and squares and have labelled half of them; None is an image without a label.
    known = {path.name: path.name.split("-")[0] for path in paths[::2] if path.name.startswith(("disc", "square"))}
    labels = [known.get(path.name) for path in paths]

    model = LegoGCD(n_classes=4, image_size=64, views=2, epochs=5, cache=Path(home) / "views").fit(paths, labels)
    model.save(run)
    print(f"{len(paths)} pictures, {len(known)} labelled; classes: {', '.join(model.classes_)}")

    # Look at a new group, give it a name, and confirm it.
    found = current(run)
    group = str(model.novel_classes_[0])
    members = found.loc[found["category"] == group, "path"]
    name = Path(members.iloc[0]).name.split("-")[0]
    append_edit(run, Name(group, name))
    append_edit(run, confirmation(run, [name]))
    print(f"{group} has {len(members)} pictures and is called {name} now")

    # The next round starts from the labels you gave and those you confirmed; kept views are used again.
    confirmed = confirmed_labels(run)
    again = LegoGCD(n_classes=4, image_size=64, views=2, epochs=5, cache=Path(home) / "views")
    again.fit(paths, [confirmed.get(path) for path in current(run)["path"]])
    right = np.mean([label == path.name.split("-")[0] for label, path in zip(again.labels_, paths, strict=True)])
    print(f"round two: {len(confirmed)} labels, classes: {', '.join(again.classes_)}; {right:.0%} have the right name")

    # Tomorrow's pictures: what `legogcd predict` writes, as a table.
    print(LegoGCD.load(run).predict_table(paths[:3]).to_string(index=False))
