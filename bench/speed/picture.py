"""The ratios of results/bench.json in one picture."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

Ratio = tuple[str, dict[str, float]]


def ratios(found: dict[str, Any]) -> Iterator[Ratio]:
    """What is told of each benchmark that has run: a name, and median, least and most of its ratio."""
    step = found.get("tail", {}).get("ratios", {})
    names = {
        "kept bf16": "training step, kept tokens",
        "kept int8": "training step, kept tokens in int8",
        "fresh": "training step, fresh views",
        "evaluation bf16": "evaluation of an epoch",
    }
    yield from ((name, step[key]) for key, name in names.items() if key in step)
    for views, ours in found.get("run", {}).get("ours", {}).items():
        yield f"200 epochs of CUB, {views} kept views", ours["ratio"]
    for name, made in found.get("encode", {}).get("images", {}).items():
        yield f"encoding, {name}", made["ratio"]


def draw(found: dict[str, Any], out: Path) -> None:
    rows = list(ratios(found))[::-1]
    if not rows:
        return
    figure, axes = plt.subplots(figsize=(8, 0.42 * len(rows) + 1.1), layout="constrained")
    for place, (_, ratio) in enumerate(rows):
        axes.barh(place, ratio["median"] - 1, left=1, color="#0b6fb8", height=0.62)
        axes.plot([ratio["least"], ratio["most"]], [place, place], color="#1d2126", linewidth=1.5)
        axes.annotate(
            f"{ratio['median']:.3g}×",
            (max(ratio["median"], ratio["most"]), place),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontweight="bold",
        )
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.set_xscale("log")
    axes.set_xlim(1, 3 * max(ratio["most"] for _, ratio in rows))
    axes.set_xticks([1, 3, 10, 30, 100, 300, 1000], ["1×", "3×", "10×", "30×", "100×", "300×", "1000×"])
    axes.minorticks_off()
    axes.set_xlabel("times as fast as a plain implementation by turns")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150, metadata={"Software": None})
    plt.close(figure)
