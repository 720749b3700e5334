"""Does cheap variety on kept tokens help? ``python -m bench.variety --data DIR:KNOWN[:PIXELS] … --out CSV``.

LegoGCD's default recipe on V kept views as they are, on a random window of each view's map of tokens (a crop that costs
nothing; from 7 × 7 up its side is drawn anew each step), and without randomly chosen tokens; evaluation views stay
whole. Rows the file already has are not computed again; the tables are those of ``bench.study``.
"""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bench.grids import SCREENED, Variant
from bench.study import DataSet, key_of, run
from bench.study_table import SCORES, Study, table
from legogcd.evaluation.results import ResultBook, settings_text
from legogcd.vision.views.kept import KeptViews
from legogcd.vision.views.rows import dense


def window(maps: Tensor, generator: torch.Generator) -> Tensor:
    """A square of each map [N, h, h, C], anywhere; all of a step have the same side."""
    count, side = maps.shape[:2]
    new = int(torch.randint(side - 2, side + 1, (1,), generator=generator)) if side >= 7 else side - 1
    top, left = torch.randint(side - new + 1, (2, count, 1), generator=generator)
    reach = torch.arange(new)
    return maps[torch.arange(count)[:, None, None], (top + reach)[:, :, None], (left + reach)[:, None, :]]


def drop(maps: Tensor, generator: torch.Generator) -> Tensor:
    """(h − 1)² of the tokens of each map [N, h, h, C], without order: the tail's mean does not need it."""
    count, side, _, width = maps.shape
    chosen = torch.rand(count, side * side, generator=generator).argsort(1)[:, : (side - 1) ** 2]
    kept = maps.flatten(1, 2).gather(1, chosen[..., None].expand(-1, -1, width))
    return kept.unflatten(1, (side - 1, side - 1))


MODES: dict[str, Callable[[Tensor, torch.Generator], Tensor] | None] = {"whole": None, "window": window, "drop": drop}


@contextmanager
def varied(mode: str) -> Iterator[None]:
    """Training pairs are changed by a mode while this is open."""
    change, plain = MODES[mode], KeptViews.pair

    def pair(self: KeptViews, rows: Tensor, generator: torch.Generator) -> Any:
        (maps,) = plain(self, rows, generator)
        return (change(dense(maps, torch.float32), generator),) if change else (maps,)

    KeptViews.pair = pair  # type: ignore[method-assign]
    try:
        yield
    finally:
        KeptViews.pair = plain  # type: ignore[method-assign]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.variety", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=DataSet.read, nargs="+", required=True, metavar="DIR:KNOWN[:PIXELS]")
    parser.add_argument("--out", type=Path, required=True, help="CSV that collects the rows")
    parser.add_argument("--seeds", type=lambda text: [int(part) for part in text.split(",")], default=[0, 1, 2])
    parser.add_argument("--modes", nargs="+", choices=list(MODES), default=list(MODES))
    parser.add_argument("--views", type=int, default=4)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    book, rows = ResultBook(options.out), {}
    variant = Variant("", settings=SCREENED, views=options.views)
    for seed in options.seeds:
        for data in options.data:
            for mode in options.modes:
                key = key_of(variant, data, seed, options) | {"settings": settings_text({**SCREENED, "tokens": mode})}
                if not book.find(**key):
                    with varied(mode):
                        book.add(run(variant, data, key, options))
                result = book.find(**key)[0]
                rows[mode, f"{data.name}, {data.image_size} px", seed] = result
                scores = " / ".join(f"{result.percent(part):.1f}" for part in SCORES)
                print(f"{data.name}, {data.image_size} px, seed {seed}, {mode}: {scores}", flush=True)
    names = [f"{data.name}, {data.image_size} px" for data in options.data]
    print("\n".join(table(Study(rows, options.modes, names))))


if __name__ == "__main__":
    main()
