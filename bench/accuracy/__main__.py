"""The tables of every study from the rows in results/, without training anything: ``python -m bench.accuracy``.

docs/accuracy.md, docs/performance.md and docs/paper.md have these figures; to make a row that is missing, run its study
(``python -m bench.accuracy.study``) without ``--shown``.
"""

import argparse
import shlex

from bench.accuracy import length, study

FOUR = "--data pets:20:160 clothing:5:160 cifar2k:5:128 digits:5:64 --seeds 0,1,2,3,4"
TWO = "--data clothing:5:160 digits:5:64 --seeds 0,1"
SHORT = '--only LegoGCD legogcd+ k-means "semi-supervised k-means"'
RARER = f'{SHORT} "legogcd+, new classes start where images lie densest"'
STUDIES = (
    f"finals {FOUR} --out results/accuracy.csv",
    "hard --data flowers:51:224 cars:49:224 --seeds 0,1,2,3,4 --out results/hard.csv",
    f"finals {FOUR} --labelled 10 {SHORT} --out results/small.csv",
    f"finals {FOUR} --labelled 10 --rarer 10 {RARER} --out results/small.csv",
    *(
        f"{grid} --data cars:49:128 flowers:51:128 --seeds 0,1 --out results/ingredients.csv"
        for grid in ("ingredients", "ingredients-not-whitened")
    ),
    *(f"{grid} {TWO} --out results/screening.csv" for grid in ("forms", "rates")),
    f"balance {TWO} --out results/balance.csv",
    f"balance {TWO} --rehearse --out results/balance.csv",
    "views --data pets:20:160 clothing:5:160 cifar10:5:128 --epochs 15 --out results/views.csv",
    *(
        f"differences --data {data} --seeds 0 --recipe {recipe} --epochs {epochs} --out results/differences.csv"
        for data, recipe, epochs in (
            ("pets:20:160 clothing:5:160", "default", 15),
            ("pets:20:160", "paper", 30),
            ("clothing:5:160", "cifar10", 30),
        )
    ),
)


def main() -> None:
    argparse.ArgumentParser(prog="python -m bench.accuracy", description=(__doc__ or "").splitlines()[0]).parse_args()
    for command in STUDIES:
        print(f"\n## {command}", flush=True)
        study.main([*shlex.split(command), "--shown"])
    print("\n## length")
    length.main(["--shown"])


if __name__ == "__main__":
    main()
