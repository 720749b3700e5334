"""A finished run to report on: real pictures with hostile names, features and probabilities made by hand."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from run_configs import run_config

from legogcd.collection import ImageFiles, Images
from legogcd.report.page import PageImages
from legogcd.run.config import ImagesRecord, write_config
from legogcd.run.discovery import Discovery, write_predictions

KNOWN = ("owl", '<b onclick="alert(3)">hawk</b> & co')
HOSTILE = ("<img src=x onerror=alert(1)>.png", "a\"b'c.png", "🦉 & é.png", "</script><script>alert(2)</script>.png")


@dataclass
class Finished:
    """A run folder and what a model would say of its images."""

    folder: Path
    images: ImageFiles
    features: np.ndarray
    probabilities: np.ndarray
    wrong_label: int
    duplicates: tuple[int, int]

    def shown(self, images: Images | None = None) -> PageImages:
        """What a report is made of, with the pictures or with others."""
        return PageImages(images or self.images, self.features, self.probabilities)


def write_run(root: Path, per_group: int = 30, first: tuple[str, ...] = HOSTILE) -> Finished:
    """Two known classes and two new groups, a wrong label, and one picture twice."""
    random = np.random.default_rng(0)
    group = np.repeat(np.arange(4), per_group)
    names = [*first, *(f"photo {number:03d}.png" for number in range(len(first), len(group)))]
    features = np.eye(4, 16)[group] + random.normal(0, 0.08, (len(group), 16))
    features[8] = features[7] + 0.001
    scores = np.exp(8 * features[:, :4])
    probabilities = scores / scores.sum(1, keepdims=True)
    for name in names:
        blocks = random.integers(0, 256, (6, 6, 3)).astype(np.uint8)
        path = root / "pictures" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(blocks).resize((60, 48), Image.Resampling.BICUBIC).save(path, format="PNG")
    with Image.open(root / "pictures" / names[7]) as picture:
        picture.resize((90, 72)).save(root / "pictures" / names[8], format="PNG")
    labels = np.where((group < 2) & (np.arange(len(group)) % 2 == 0), group, -1)
    labels[10] = 1  # an owl labelled as a hawk
    folder = root / "run"
    folder.mkdir()
    found = Discovery(tuple(names), labels, probabilities.argmax(1), probabilities.max(1), KNOWN, 4)
    write_predictions(folder, found)
    images = ImagesRecord(root="the photos", count=len(names), labelled=int((labels >= 0).sum()))
    write_config(folder, run_config(KNOWN, 4, name="<i>birds</i>", used={"epochs": 2}, images=images))
    lines = [{"epoch": e, "loss": 3.0 / e, "terms": {"ler": 0.1 * e}, "all": 0.5 + 0.1 * e} for e in (1, 2)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Finished(folder, ImageFiles(root / "pictures", tuple(names)), features, probabilities, 10, (7, 8))
