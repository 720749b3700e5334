"""Write data sets that come in arrays as folders of pictures, one per class, for ``bench.accuracy.study``.

``python -m bench.accuracy.sets digits --out DIR`` (scikit-learn's), or ``… cifar10 --root DIR --images 5000 --out DIR``
(any layout `legogcd datasets check cifar10` accepts; every class gets the same number, the first of it).
"""

import argparse
from pathlib import Path

import numpy as np
from PIL import Image

from legogcd.demo import write_digits
from legogcd.paper.datasets import dataset_named


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.accuracy.sets", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", choices=["digits", "cifar10"])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--root", type=Path, help="where CIFAR-10 is")
    parser.add_argument("--images", type=int, default=5000)
    options = parser.parse_args()
    if options.name == "digits":
        write_digits(options.out, 1797)
    else:
        write_cifar10(options.root, options.out, options.images)


def write_cifar10(root: Path, out: Path, count: int) -> None:
    split = dataset_named("cifar10").load(root, "train")
    for number, name in enumerate(split.class_names):
        (out / name).mkdir(parents=True, exist_ok=True)
        for row in np.flatnonzero(split.classes == number)[: count // len(split.class_names)]:
            Image.fromarray(split.images.item(int(row))).save(out / name / f"{row:05d}.png")


if __name__ == "__main__":
    main()
