"""Which images an epoch sees: drawn with replacement, labelled and unlabelled equally often."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor


def epoch_generator(seed: int, epoch: int) -> torch.Generator:
    """An epoch's own randomness: a run that goes on after an interruption draws what it would have drawn."""
    mixed = np.random.SeedSequence((seed, epoch)).generate_state(1, np.uint64)[0]
    return torch.Generator().manual_seed(int(mixed) >> 1)


def balanced_batches(labels: Tensor, batch_size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """As many draws as there are images, in batches of positions; the last short batch is dropped.

    A labelled image weighs 1, an unlabelled one (labelled count / unlabelled count); where one kind is
    missing all images weigh the same. A batch is never larger than the collection.

    >>> labels = torch.tensor([0, 1] + [-1] * 8)
    >>> [len(batch) for batch in balanced_batches(labels, 4, epoch_generator(0, 0))]
    [4, 4]
    """
    labelled = labels >= 0
    n_labelled, n_unlabelled = int(labelled.sum()), int((~labelled).sum())
    weights = torch.ones(len(labels), dtype=torch.float64)
    if n_labelled and n_unlabelled:
        weights[~labelled] = n_labelled / n_unlabelled
    batch_size = min(batch_size, len(labels))
    bounds = weights.cumsum(0)
    places = torch.rand(len(labels), dtype=torch.float64, generator=generator) * bounds[-1]
    draws = torch.searchsorted(bounds, places, right=True).clamp_(max=len(labels) - 1)
    for begin in range(0, len(draws) - batch_size + 1, batch_size):
        yield draws[begin : begin + batch_size]
