"""A run's configuration as a run would have written it, for tests that need no training."""

from typing import Any

from legogcd.methods import published_recipe
from legogcd.run.config import ImagesRecord, RunConfig
from legogcd.run.options import RunOptions


def run_config(
    known: tuple[str, ...] = ("owl", "hawk"), n_classes: int = 4, method: str = "legogcd", **changes: Any
) -> RunConfig:
    """Options by their names, the other fields of a configuration by theirs."""
    options = {name: changes.pop(name) for name in list(changes) if name in RunOptions.model_fields}
    recipe = published_recipe(method).model_dump(mode="json") | changes.pop("used", {})
    fields: dict[str, Any] = {"images": ImagesRecord(root="the photos", count=10, labelled=4), "weights": "0"}
    return RunConfig(
        options=RunOptions(n_classes=n_classes, method=method, **options),
        method=method,
        recipe=recipe,
        known=known,
        **fields | changes,
    )
