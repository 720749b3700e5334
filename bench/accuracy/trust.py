"""How far a run can be trusted: ``python -m bench.accuracy.trust DIR --known N``; DIR has one sub-folder per class.

Trains as `legogcd discover` does (a tenth of the labels held out), once as it is and once with 5 % of the labels
changed to another known class, and prints by seed: the expected calibration error on the unlabelled images, before and
after, and separately for images the run calls known and novel; how many count as unsure and how often the sure ones are
right (after the optimal matching of groups to true classes); how many changed labels the report's list of possible
wrong labels holds, which is at most 5 % of the labels long.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.accuracy.study import DataSet
from legogcd.collection import Collection, Truth
from legogcd.collection.group_names import class_names
from legogcd.evaluation import clustering_accuracy
from legogcd.evaluation.calibration import Calibration, expected_calibration_error
from legogcd.report.page.findings import wrong_labels
from legogcd.report.page.group_means import directions
from legogcd.report.page.grouped_images import GroupedImages
from legogcd.run import Job, Outcome, RunOptions, discover

FLIPPED, HELD_OUT = 0.05, 0.1  # shares of the labels


def main() -> None:
    options = read_options()
    collection, truth = DataSet(options.images, options.known, options.image_size).open()
    for seed in options.seeds:
        plain = job_of(collection, truth, seed, options)
        outcome = discover(plain)
        print(f"seed {seed}: {trust(outcome, collection, truth)}", flush=True)
        flipped, changed = flip(collection, seed)
        print(f"seed {seed}: {suspects(discover(replace(plain, collection=flipped)), flipped, changed)}", flush=True)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.accuracy.trust", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("images", type=Path)
    parser.add_argument("--known", type=int, required=True, help="how many sub-folders are known")
    parser.add_argument("--seeds", type=lambda text: [int(part) for part in text.split(",")], default=[0, 1, 2])
    parser.add_argument("--method", default="legogcd+")
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--threads", type=int)
    return parser.parse_args()


def job_of(collection: Collection, truth: Truth, seed: int, options: argparse.Namespace) -> Job:
    chosen = RunOptions(
        n_classes=truth.n_classes(collection),
        method=options.method,
        image_size=options.image_size,
        held_out=HELD_OUT,
        cache=options.cache,
        seed=seed,
        threads=options.threads,
    )
    return Job(collection, chosen)


def probabilities_of(outcome: Outcome, calibration: Calibration) -> np.ndarray:
    assert outcome.features is not None
    return replace(outcome.model, calibration=calibration).classify_array(outcome.features)


def trust(outcome: Outcome, collection: Collection, truth: Truth) -> str:
    found, true = outcome.model.calibration, truth.encode(collection)
    rows = np.flatnonzero(~collection.labelled & (true >= 0))
    before, after = (probabilities_of(outcome, how)[rows] for how in (Calibration(), found))
    predicted, confidence = after.argmax(axis=1), after.max(axis=1)
    stands_for = clustering_accuracy(true[rows], predicted, collection.n_known).matching
    right = np.array([stands_for[group] for group in predicted]) == true[rows]
    novel = predicted >= collection.n_known
    sure = ~found.unsure(confidence)

    def gap(chosen: np.ndarray, confidences: np.ndarray = confidence) -> str:
        return f"{100 * expected_calibration_error(confidences[chosen], right[chosen]):.1f}"

    everything = np.ones(len(rows), bool)
    return (
        f"{found.held_out} held out, temperature {found.temperature:.2f}; error {gap(everything, before.max(axis=1))} "
        f"-> {gap(everything)} (known {gap(~novel)}, novel {gap(novel)}); below {found.threshold:.2f} unsure: "
        f"{100 * (~sure).mean():.0f} % of the images, {100 * right[~sure].mean():.0f} % of them right, "
        f"{100 * right[sure].mean():.0f} % of the others"
    )


def flip(collection: Collection, seed: int) -> tuple[Collection, np.ndarray]:
    """The collection with some labels changed, and where."""
    random, labels = np.random.default_rng(seed), collection.labels.copy()
    labelled = np.flatnonzero(collection.labelled)
    changed = random.choice(labelled, round(FLIPPED * len(labelled)), replace=False)
    labels[changed] = (labels[changed] + random.integers(1, collection.n_known, len(changed))) % collection.n_known
    return replace(collection, labels=labels), changed


def suspects(outcome: Outcome, collection: Collection, changed: np.ndarray) -> str:
    found = outcome.discovery
    belief = probabilities_of(outcome, outcome.model.calibration)
    groups = tuple(class_names(collection.known, belief.shape[1]))
    sorting = GroupedImages(
        names=found.names,
        groups=groups,
        known=np.arange(len(groups)) < collection.n_known,
        group=np.where(collection.labelled, collection.labels, found.predicted),
        belief=belief,
        predicted=found.predicted,
        learned=np.ones(len(groups), bool),
        labelled=collection.labelled,
    )
    assert outcome.features is not None
    listed = [finding.images[0] for finding in wrong_labels(sorting, directions(outcome.features))]
    caught = len(set(listed) & set(changed.tolist()))
    return (
        f"{len(changed)} of {collection.labelled.sum()} labels changed: {caught} of them among the {len(listed)} listed"
    )


if __name__ == "__main__":
    main()
