"""The share of the unlabelled images that is of known classes, found and true: ``python -m bench.accuracy.shares``.

What ``legogcd+`` finds before it trains (``legogcd/methods/legogcd_plus/known_share.py``), beside the truth, on each
data set as it is (half of the known classes' images labelled), with ten labelled images per class, and with new classes
ten times rarer too.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.accuracy.probe import untrained_features
from bench.accuracy.study import DataSet
from legogcd.methods import choose_recipe
from legogcd.methods.legogcd_plus.known_share import known_share
from legogcd.methods.legogcd_plus.whitening import Whitening
from legogcd.run.effort import BUILT_IN


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.accuracy.shares", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--data", type=DataSet.read, nargs="+", required=True, metavar="DIR:KNOWN[:PIXELS]")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--seeds", type=int, default=3, help="how many ways to leave labelled images out")
    options = parser.parse_args()
    recipe = choose_recipe("default", "legogcd+", BUILT_IN, {})
    print("| | truth | found |\n|---|--:|--:|")
    for data in options.data:
        for setting in (data, replace(data, labelled=10), replace(data, labelled=10, rarer=10)):
            features, labels, classes = untrained_features(setting, options.cache)
            width = recipe.whitened_width(int(classes.max()) + 1)
            projected = Whitening(features.shape[1], width).find_axes(features)
            found = [known_share(projected, labels, seed) or 0.0 for seed in range(options.seeds)]
            truth = (classes[labels < 0] < data.known).mean()
            print(f"| {setting.name}, {setting.setup} | {truth:.2f} | {np.mean(found):.2f} |", flush=True)


if __name__ == "__main__":
    main()
