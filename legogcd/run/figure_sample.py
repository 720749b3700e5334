"""What a scored run keeps for its figures: features of a few classes, and how sure it is of the known images."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from legogcd.clustering import directions
from legogcd.collection import Collection, Truth
from legogcd.errors import UserError
from legogcd.run.manifest import MANIFEST, check_sealed, seal
from legogcd.run.model import CLASSIFIED_TOGETHER
from legogcd.run.pipeline import Outcome
from legogcd.training.checkpoint import load_tensors, save_tensors

SAMPLE = "sample.safetensors"


@dataclass(frozen=True, eq=False)
class FigureSample:
    """A few classes' images as a run sees them, and its confidence in every unlabelled image of a known class."""

    features: NDArray[np.float32]  # [n, D] at length 1
    classes: NDArray[np.int64]  # [n] positions in `names`
    names: tuple[str, ...]  # the true classes, known ones first
    n_known: int  # how many of `names` are known
    confidence: NDArray[np.float32]  # [M] of the unlabelled images whose true class is known
    in_known: NDArray[np.bool_]  # [M] whether the run sorted them into a known class, right or wrong
    logit: NDArray[np.float32] | None = None  # [M] their largest logits; None in runs from before they were kept


def keep_sample(outcome: Outcome, collection: Collection, truth: Truth, out: Path) -> None:
    """Leave in a run folder what the figures need of a scored run."""
    unreadable = outcome.discovery.unreadable
    rows = [row for row, name in enumerate(collection.images.names) if name not in unreadable]
    readable = collection if len(rows) == len(collection) else collection.keep(rows)
    positions = choose_sample(readable, truth)
    assert outcome.features_at is not None
    found = outcome.discovery
    features = outcome.features_at(positions) if outcome.features is None else outcome.features[positions]
    write_sample(
        out, readable, truth, positions, features, found.predicted, found.confidence, _logits(outcome, readable, truth)
    )
    if (out / MANIFEST).exists():
        seal(out, [SAMPLE])


def _logits(outcome: Outcome, collection: Collection, truth: Truth) -> NDArray[np.float32]:
    """The largest logit of each unlabelled image of a known class [M]."""
    rows = _old(collection, truth)
    assert outcome.features_at is not None
    features = outcome.features_at(rows) if outcome.features is None else outcome.features[rows]
    model, largest = outcome.model, [np.zeros(0, np.float32)]
    with torch.no_grad():
        for begin in range(0, len(features), CLASSIFIED_TOGETHER):
            part = torch.from_numpy(features[begin : begin + CLASSIFIED_TOGETHER]).to(model.runtime.device)
            largest.append(model.method.eval().logits(part).amax(-1).float().cpu().numpy())
    return np.concatenate(largest)


def _old(collection: Collection, truth: Truth) -> NDArray[np.int64]:
    """Positions of the unlabelled images whose true class is known."""
    codes = truth.encode_unlabelled(collection)
    return np.flatnonzero((codes >= 0) & (codes < collection.n_known))


def choose_sample(
    collection: Collection, truth: Truth, seed: int = 0, classes: int = 5, per_class: int = 100
) -> NDArray[np.int64]:
    """Positions [n], ascending, of unlabelled images of ``classes`` known and as many novel classes.

    Classes and images are drawn by ``seed`` from the collection and its truth alone, so every method shows the same.
    Classes without an unlabelled image are passed over; where there are fewer classes or images, fewer are chosen.
    """
    random = np.random.default_rng(seed)
    codes = truth.encode_unlabelled(collection)
    present = np.unique(codes[codes >= 0])
    chosen = []
    for candidates in (present[present < collection.n_known], present[present >= collection.n_known]):
        for code in np.sort(random.permutation(candidates)[:classes]):
            chosen.append(random.permutation(np.flatnonzero(codes == code))[:per_class])
    return np.sort(np.concatenate(chosen)).astype(np.int64) if chosen else np.zeros(0, np.int64)


def write_sample(
    folder: Path,
    collection: Collection,
    truth: Truth,
    positions: NDArray[np.int64],
    features: NDArray[np.floating],
    predicted: NDArray[np.integer],
    confidence: NDArray[np.floating],
    logit: NDArray[np.floating] | None = None,
) -> None:
    """Write ``sample.safetensors``: the chosen images' features [n, D], all images' classes [N] and confidences [N].

    ``logit`` [M] are the largest ones of the unlabelled images of known classes, in their order.

    Features are kept at length 1 and in fp16: prototypes look at their direction only.
    """
    if len(features) != len(positions) or not len(predicted) == len(confidence) == len(collection):
        raise ValueError(
            f"{len(features)} features for {len(positions)} positions; {len(predicted)} predictions and "
            f"{len(confidence)} confidences for {len(collection)} images"
        )
    codes = truth.encode_unlabelled(collection)
    shown, first, classes = np.unique(codes[positions], return_index=True, return_inverse=True)
    if len(shown) and shown[0] < 0:
        raise ValueError("positions must be of unlabelled images whose true class is known")
    names = [truth.labels[collection.images.names[position]] for position in positions[first]]
    old = _old(collection, truth)
    tensors = {
        "features": torch.from_numpy(directions(features)).half(),
        "classes": torch.from_numpy(classes.astype(np.int64)),
        "confidence": torch.from_numpy(confidence[old].astype(np.float32)),
        "in_known": torch.from_numpy(predicted[old] < collection.n_known),
    }
    if logit is not None:
        tensors["logit"] = torch.from_numpy(logit.astype(np.float32))
    about = {"names": names, "n_known": int((shown < collection.n_known).sum())}
    save_tensors(folder / SAMPLE, tensors, **about)


def read_sample(folder: Path) -> FigureSample:
    """The sample a run kept; the user's mistake where there is none or where it is something else."""
    path = folder / SAMPLE
    if not path.is_file():
        raise UserError(f"{folder} has no {SAMPLE}; it is written when truth is given")
    check_sealed(folder, SAMPLE)
    tensors, about = load_tensors(path)
    try:
        sample = FigureSample(
            tensors["features"].float().numpy(),
            tensors["classes"].long().numpy(),
            tuple(map(str, about["names"])),
            int(about["n_known"]),
            tensors["confidence"].float().numpy(),
            tensors["in_known"].bool().numpy(),
            tensors["logit"].float().numpy() if "logit" in tensors else None,
        )
    except (KeyError, ValueError, TypeError):
        raise UserError(f"{path} does not hold a run's sample; run again with truth to have it written") from None
    whole = (
        sample.features.ndim == 2
        and sample.classes.shape == (len(sample.features),)
        and sample.confidence.shape == sample.in_known.shape
        and (sample.logit is None or sample.logit.shape == sample.confidence.shape)
        and (sample.classes.size == 0 or 0 <= sample.classes.min() <= sample.classes.max() < len(sample.names))
    )
    if not whole:
        raise UserError(f"{path} contradicts itself; run again with truth to have it written anew")
    return sample
