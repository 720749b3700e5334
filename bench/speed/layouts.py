"""Ways to lay out the report's map, by time and by neighbors kept: ``python -m bench.speed.layouts``.

Made-up features of 40 groups; ours is the report's own function, the others get the same 50 principal
components. Each in a process of its own, twice: the first call of a process may compile. Seconds of the processor, and
the share of each image's 15 nearest that are among its 15 nearest on the map. Needs
``pip install openTSNE pacmap umap-learn``; what is missing is left out. ``--out`` draws the maps.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

GROUPS, DIM, NEAR = 40, 1280, 15
Layout = Callable[[NDArray[np.float32]], NDArray[Any]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.layouts", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=(316, 1_435, 10_000))
    parser.add_argument("--only", nargs="+", choices=sorted(LAYOUTS), default=list(LAYOUTS))
    parser.add_argument("--out", type=Path, help="a folder for pictures of the maps")
    parser.add_argument("--child", choices=sorted(LAYOUTS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measured(options.child, options.sizes[0], options.out)))
        return
    print(f"load {os.getloadavg()[0]:.1f}; processor seconds of the first and of a second call, neighbors kept")
    for size in options.sizes:
        for name in options.only:
            print(f"{size:7,d} images, {name:12s} {asked(name, size, options.out)}", flush=True)


def asked(name: str, size: int, out: Path | None) -> str:
    command = [sys.executable, "-m", "bench.speed.layouts", "--child", name, "--sizes", str(size)]
    command += ["--out", str(out)] if out else []
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    done = subprocess.run(command, env=os.environ | one_thread, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    if "missing" in found:
        return f"{found['missing']} is not installed"
    return f"{found['first']:6.1f} s, {found['second']:6.1f} s, {found['kept']:.2f}"


def measured(name: str, size: int, out: Path | None) -> dict[str, Any]:
    import legogcd  # noqa: F401  # its settings for threads and memory, for everyone

    random = np.random.default_rng(0)
    group = random.integers(GROUPS, size=size)
    made = random.normal(size=(GROUPS, DIM))[group] + 2 * random.normal(size=(size, DIM))
    units = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)
    seconds = []
    try:
        for _ in range(2):
            began = time.process_time()
            points = LAYOUTS[name](units)
            seconds.append(time.process_time() - began)
    except ModuleNotFoundError as missing:
        return {"missing": missing.name}
    if out:
        draw(points, group, out / f"{name} {size}.png")
    return {"first": seconds[0], "second": seconds[1], "kept": kept(units, np.asarray(points, np.float32))}


def kept(units: NDArray[np.float32], points: NDArray[np.float32]) -> float:
    """Of each image's nearest, the share that is among its nearest on the map."""
    near, close = (
        NearestNeighbors(n_neighbors=NEAR).fit(space).kneighbors(return_distance=False) for space in (units, points)
    )
    return float(np.mean([len(np.intersect1d(*both)) / NEAR for both in zip(near, close, strict=True)]))


def draw(points: NDArray[Any], group: NDArray[Any], path: Path) -> None:
    from matplotlib import pyplot

    path.parent.mkdir(parents=True, exist_ok=True)
    figure, axes = pyplot.subplots(figsize=(6, 6))
    axes.scatter(*points.T, c=group, s=3, cmap="tab20")
    figure.savefig(path)


def ours(units: NDArray[np.float32]) -> NDArray[Any]:
    from legogcd.report.page.layout_map import map_points

    return map_points(units)


def components(units: NDArray[np.float32]) -> NDArray[Any]:
    from legogcd.report.page.layout_map import _reduced

    return _reduced(units)


def open_tsne(units: NDArray[np.float32]) -> NDArray[Any]:
    from openTSNE import TSNE

    return np.asarray(TSNE(random_state=0, n_jobs=1).fit(components(units)))


def pacmap(units: NDArray[np.float32]) -> NDArray[Any]:
    from pacmap import PaCMAP

    return np.asarray(PaCMAP(random_state=0).fit_transform(components(units)))


def umap(units: NDArray[np.float32]) -> NDArray[Any]:
    from umap import UMAP

    return np.asarray(UMAP(random_state=0, n_jobs=1).fit_transform(components(units)))


LAYOUTS: dict[str, Layout] = {"ours": ours, "openTSNE": open_tsne, "PaCMAP": pacmap, "UMAP": umap}

if __name__ == "__main__":
    main()
