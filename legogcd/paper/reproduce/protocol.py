"""How a table's experiments are run, and which of them are still to be run."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from legogcd.evaluation.results import ResultBook, settings_text
from legogcd.methods import check_method
from legogcd.paper.datasets import dataset_named
from legogcd.paper.reproduce.published_tables import Cell
from legogcd.run import RunOptions

PUBLISHED = RunOptions(recipe="paper", backbone="facebook/dino-vitb16")  # the recipe brings the protocol
QUICK = PUBLISHED.changed(backbone="efficientnet-lite0", image_size=128, epochs=20)
QUICK_IMAGES = 10_000


@dataclass(frozen=True)
class Protocol:
    """How data sets are run. What is not the published protocol is said by ``setup``, which every result carries."""

    root: Path
    options: RunOptions = PUBLISHED
    most_images: int | None = None  # of a split; None: all

    @property
    def setup(self) -> str:
        """One line: backbone, input, epochs, views, and which part of the images."""
        options, protocol = self.options, self.options.protocol
        parts = [
            protocol.backbone if not Path(protocol.backbone).exists() else Path(protocol.backbone).name,
            f"{options.image_size} px",
            f"{options.epochs or 200} epochs",
            "fresh views" if protocol.views == "fresh" else f"{protocol.views} kept views",
        ]
        published = PUBLISHED.protocol._replace(backbone=protocol.backbone, views=protocol.views)  # said already
        parts += [f"{name} {value}" for name, value in protocol._asdict().items() if value != getattr(published, name)]
        if self.most_images is not None:
            parts.append(f"at most {self.most_images:,} images of a split")
        return ", ".join(parts)

    def settings(self, cell: Cell) -> dict[str, Any]:
        """What the cell and the person change of the published recipe; the number of epochs is told apart."""
        return {**cell.settings, **self.options.settings}

    def options_of(self, cell: Cell, seed: int = 0) -> RunOptions:
        """The data set's published recipe with what the cell and the person change."""
        dataset = dataset_named(cell.dataset)
        return self.options.changed(
            n_classes=dataset.n_classes,
            method=check_method(cell.method),
            recipe=dataset.recipe or cell.dataset,
            settings=self.settings(cell),
            seed=seed,
        )


def missing_runs(cells: list[Cell], seeds: int, protocol: Protocol, book: ResultBook) -> Iterator[tuple[Cell, int]]:
    """What the book does not have yet, data set by data set, each seed of all methods before the next seed."""
    wanted = [(cell, seed) for cell in cells for seed in cell.seeds or range(seeds)]
    for cell, seed in sorted(wanted, key=lambda pair: (pair[0].dataset, pair[1])):
        if not book.find(
            dataset=cell.dataset,
            method=check_method(cell.method),
            seed=seed,
            setup=protocol.setup,
            settings=settings_text(protocol.settings(cell)),
        ):
            yield cell, seed
