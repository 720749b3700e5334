"""Old classes that the paper's draw left without a labelled image, end to end, for every kind of method."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from legogcd.collection import Collection, Truth, find_images
from legogcd.evaluation import scoring
from legogcd.paper.splits import labelled_rows
from legogcd.run import Job, RunOptions, discover
from legogcd.run.config import read_config

CLASSES, OLD = 8, 5
SMALL = {"projector_hidden": 8, "bottleneck": 4, "projector_out": 16, "head_hidden": 8, "head_out": 4, "n_init": 3}


@pytest.fixture
def split(tmp_path: Path) -> tuple[Collection, Truth]:
    """One or six images of each class; half of the Old ones' are drawn with the legacy seed 0, as the paper does."""
    random = np.random.default_rng(1)
    for number in range(CLASSES):
        (tmp_path / "images" / f"class{number}").mkdir(parents=True)
        color = random.integers(0, 256, 3)
        for image in range(6 if number in (0, 3) or number >= OLD else 1):
            pixels = np.clip(color + random.normal(0, 10, (40, 40, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(tmp_path / "images" / f"class{number}" / f"{image}.png")
    images = find_images(tmp_path / "images")
    names = tuple(f"class{number}" for number in range(CLASSES))
    classes = np.array([int(name.split("/")[0][5:]) for name in images.names])
    labels = np.full(len(images), -1)
    rows = labelled_rows(classes, range(OLD))
    labels[rows] = classes[rows]
    truth = Truth({image: names[c] for image, c in zip(images.names, classes, strict=True)}, order=names)
    return Collection(images, labels, names[:OLD], known_by_name=True), truth


def test_the_draw_leaves_classes_without_a_label(split: tuple[Collection, Truth]) -> None:
    counts = split[0].counts()
    assert 0 in counts.values()
    assert max(counts.values()) > 1
    assert split[0].keep(range(len(split[0]))).known == split[0].known
    assert any("without a labelled image" in warning for warning in split[0].check(CLASSES))


@pytest.mark.parametrize(
    ("method", "recipe"),
    [
        *((name, "paper") for name in ("kmeans", "sskmeans", "gcd", "rankstats", "uno", "orca", "simgcd", "legogcd")),
        *((name, "default") for name in ("gcd", "rankstats", "orca", "legogcd", "legogcd+")),
    ],
)
def test_every_method_ends_and_the_class_stays_known(
    split: tuple[Collection, Truth], tiny_vit: Path, tmp_path: Path, method: str, recipe: str
) -> None:
    from legogcd.methods import method_entry

    fields = method_entry(method).recipe.model_fields
    settings = {name: value for name, value in SMALL.items() if name in fields}
    options = RunOptions(
        n_classes=CLASSES,
        method=method,
        recipe=recipe,
        backbone=str(tiny_vit),
        image_size=32,
        views=2,
        epochs=2,
        settings=settings,
        cache=tmp_path / "cache",
        held_out=0,
        device="cpu",
        threads=1,
    )
    collection, truth = split
    outcome = discover(Job(collection, options), tmp_path / "run", score=scoring(truth))
    assert read_config(tmp_path / "run").known == collection.known
    assert np.isfinite(outcome.discovery.confidence).all()
    assert 0 <= outcome.metrics[-1]["old"] <= 1
