"""What is suspicious in a run, in words and by the rows and names that predictions.csv has."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from legogcd.report.page.assemble import PageImages
from legogcd.report.page.findings import FINDING_KINDS, NEAR_DUPLICATES, Finding, FindingKind, listed_sets
from legogcd.report.page.group_means import directions
from legogcd.report.page.grouped_images import group_images
from legogcd.run.categories import Categories, current
from legogcd.run.config import read_config
from legogcd.vision.fingerprints import fingerprints


def suspicions(
    run: Path, shown: PageImages, same_pictures: Iterable[tuple[int, ...]] | None = None
) -> list[dict[str, Any]]:
    """Findings of every kind over the images that are there and not set aside; ``shown`` as a report has it.

    Each has ``kind``, ``text``, ``images`` (rows of predictions.csv) and ``groups`` (names), as plain JSON.
    ``same_pictures`` are the sets of near-duplicates by such rows, where they are known already: no edit changes them.
    """
    config, table = read_config(run), current(run)
    there = ~table["path"].isin(list(shown.left_out)).to_numpy()
    wanted = there & (table["status"] != "rejected").to_numpy()
    rows = np.flatnonzero(wanted)
    if not len(rows):
        return []
    among = wanted[there]  # of the images that features are there of
    categories = Categories.of_run(run, config.known, config.n_classes)
    images = group_images(table[wanted], categories, shown.probabilities[among])
    units = directions(np.asarray(shown.features[among], dtype=np.float32))
    place = {name: number for number, name in enumerate(shown.files.names)}

    def bits(chosen: np.ndarray) -> np.ndarray:
        return fingerprints(shown.files, [place[images.names[row]] for row in chosen])

    def search(kind: FindingKind) -> list[Finding]:
        if kind is not NEAR_DUPLICATES or same_pictures is None:
            return kind.search(images, units, bits)
        at = {row: position for position, row in enumerate(rows.tolist())}
        left = (tuple(at[row] for row in known if row in at) for known in same_pictures)
        return listed_sets(images, units, (known for known in left if len(known) > 1))

    return [
        {
            "kind": kind.key,
            "text": kind.sentence(found, images),
            "images": rows[list(found.images)].tolist(),
            "groups": sorted({images.groups[number] for number in found.groups}),
        }
        for kind in FINDING_KINDS
        for found in search(kind)
    ]
