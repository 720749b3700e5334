"""What each difference between LegoGCD's text and its released code does on real images (docs/paper.md).

``python -m bench.differences pets --known 20 --out results/differences-pets.csv`` trains LegoGCD with the paper's
recipe, and again with one thing changed at a time, on the first 20 sub-folders (sorted) as known classes. Rows that the
file already has are not computed again; the table at the end gives each change's gain, paired by seed.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.study import DataSet
from legogcd.evaluation import forgetting, scoring
from legogcd.evaluation.results import MeanSpread, Result, ResultBook, settings_text, spread
from legogcd.methods import choose_recipe
from legogcd.run import Job, ViewStorage, discover


class Variant(NamedTuple):
    """One thing changed against LegoGCD as its paper says."""

    what: str
    method: str = "legogcd"
    settings: dict[str, Any] = {}  # noqa: RUF012 - never changed


VARIANTS = (
    Variant("LegoGCD, as the paper says"),
    Variant("LegoGCD, as released", "legogcd-released"),
    Variant("DKL as released: softmax twice, nothing detached", settings={"dkl_form": "released"}),
    Variant("MAP with the released sign", settings={"margin_form": "released", "margin_temperature": 0.1}),
    Variant("p̃ at temperature 1", settings={"margin_temperature": 1.0}),
    Variant("MAP as released: sign and p̃", settings={"margin_form": "released"}),
    Variant(
        "contrastive temperatures as in the text", settings={"info_nce_temperature": 0.07, "sup_con_temperature": 1.0}
    ),
    Variant("teacher warm-up by a cosine", settings={"teacher_warmup": "cosine"}),
    Variant("supervised terms without λ", settings={"supervised_scale": 1 / 0.35}),
    Variant("no MAP, β = 1 (released ImageNet-1k)", settings={"margin_strength": 0.0, "beta": 1.0}),
    Variant("SimGCD: neither LER nor DKL", "simgcd"),
)
PARTS = ("all", "old", "new", "forgetting")


def main() -> None:
    options = read_options()
    book = ResultBook(options.out)
    collection, truth = DataSet(options.images, options.known, options.image_size).open()
    setup = f"efficientnet-lite0, {options.image_size} px, recipe {options.recipe}, {options.known} known"
    name = options.images.resolve().name
    for seed in options.seeds:
        for variant in (VARIANTS[number] for number in options.variants):
            key = {"dataset": name, "method": variant.method, "seed": seed, "setup": setup}
            key |= {"settings": settings_text(variant.settings), "epochs": options.epochs}
            if book.find(**key):
                continue
            job = Job(
                collection,
                truth.n_classes(collection),
                method=variant.method,
                recipe=choose_recipe(
                    options.recipe,
                    variant.method,
                    "efficientnet-lite0",
                    {"epochs": options.epochs, "dkl_form": None, **variant.settings},  # None: as the name says
                ),
                image_size=options.image_size,
                keeping=ViewStorage(cache=options.cache),
                seed=seed,
                threads=options.threads,
            )
            began = time.monotonic()
            metrics = discover(job, score=scoring(truth)).metrics
            scores = {part: metrics[-1][part] for part in ("all", "old", "new", "nmi", "ari")}
            lost = forgetting([entry["old"] for entry in metrics])
            seconds = round(time.monotonic() - began, 1)
            book.add(Result(**key, **scores, forgetting=lost, images=len(collection), seconds=seconds))
            print(f"{name}, seed {seed}, {variant.what}: {scores}", flush=True)
    print("\n".join(table([row for row in book.rows if row.epochs == options.epochs])))


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.differences", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("images", type=Path, help="folder with one sub-folder a class")
    parser.add_argument("--known", type=int, required=True, help="how many sub-folders are known")
    parser.add_argument("--out", type=Path, required=True, help="CSV that collects the rows")
    parser.add_argument("--seeds", type=numbers, default=[0, 1, 2])
    parser.add_argument("--variants", type=numbers, default=range(len(VARIANTS)), help="which of the list, from 0")
    parser.add_argument("--recipe", default="paper", help="whose threshold, β and ε")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--image-size", type=int, default=160)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--threads", type=int)
    return parser.parse_args()


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def table(rows: Sequence[Result]) -> Iterator[str]:
    """A line a variant and data set: All/Old/New, and the gain over LegoGCD as the paper says, paired by seed."""
    for dataset, setup in dict.fromkeys((row.dataset, row.setup) for row in rows):
        yield f"\n**{dataset}** ({setup})\n"
        yield "| what is changed | seeds | All | Old | New | forgetting of Old | change of All | of Old | of New |"
        yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|"
        here = [row for row in rows if (row.dataset, row.setup) == (dataset, setup)]
        base = {row.seed: row for row in of(VARIANTS[0], here)}
        for variant in VARIANTS:
            found = [row for row in of(variant, here) if row.seed in base]
            if found:
                scores = [str(spread(getattr(row, part) for row in found) or "–") for part in PARTS]
                gains = [
                    gain(spread(getattr(r, part) - getattr(base[r.seed], part) for r in found)) for part in PARTS[:3]
                ]
                changes = gains if variant is not VARIANTS[0] else ["", "", ""]
                yield f"| {' | '.join([variant.what, str(len(found)), *scores, *changes])} |"


def of(variant: Variant, rows: Sequence[Result]) -> list[Result]:
    text = settings_text(variant.settings)
    return [row for row in rows if (row.method, row.settings) == (variant.method, text)]


def gain(found: MeanSpread | None) -> str:
    if found is None:
        return "–"
    shown = f"{100 * found.mean:+.1f}"
    return (shown if found.std is None else f"{shown} ± {100 * found.std:.1f}").replace("-", "−")


if __name__ == "__main__":
    main()
