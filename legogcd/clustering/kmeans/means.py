"""Means of clusters without a copy of their points."""

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from legogcd.clustering.kmeans.points import Floats, Ints

_BAG = 32  # rows added up in float32; sums of so many rows are added up in float64


def cluster_means(points: Floats, clusters: Ints, wanted: Ints) -> Floats:
    """Means [M, D] of the points in each of the ``wanted`` [M] clusters, none of which may be empty.

    ``points`` [N, D], ``clusters`` [N]. Rows are read where they are; beside them N/32 partial sums are held.

    >>> points = np.array([[1.0], [8.0], [3.0]], dtype=np.float32)
    >>> cluster_means(points, np.array([0, 1, 0]), np.array([1, 0])).tolist()
    [[8.0], [2.0]]
    """
    place = np.full(max(clusters.max(), wanted.max()) + 1, -1)
    place[wanted] = np.arange(len(wanted))
    places = place[clusters]  # [N] rows of the result, -1 for none
    members = np.flatnonzero(places >= 0)
    places = places[members].astype(np.min_scalar_type(len(wanted)))  # small types are sorted by radix
    members = members[np.argsort(places, kind="stable")]
    sizes = np.bincount(places, minlength=len(wanted))  # [M]

    bags = -(-sizes // _BAG)  # [M] how many each cluster fills
    first_bag, first_member = np.cumsum(bags) - bags, np.cumsum(sizes) - sizes
    begins = np.repeat(first_member - _BAG * first_bag, bags) + _BAG * np.arange(bags.sum())
    partial = _sums(torch.from_numpy(points), members, begins)  # [bags, D]
    sums = _sums(partial.double(), np.arange(len(partial)), first_bag)  # [M, D]
    return (sums.numpy() / sizes[:, None]).astype(np.float32)


def exact_means(points: Floats, clusters: Ints, centers: Floats) -> Floats:
    """The same in float64 throughout, at several times the cost: ``centers`` [K, D] where clusters are not empty."""
    order = np.argsort(clusters, kind="stable")
    sizes = np.bincount(clusters, minlength=len(centers))
    means = centers.copy()
    for c, end in enumerate(np.cumsum(sizes)):
        if sizes[c]:
            means[c] = points[order[end - sizes[c] : end]].mean(axis=0, dtype=np.float64)
    return means


def _sums(table: Tensor, rows: Ints, begins: Ints) -> Tensor:
    """Sum of the table's ``rows`` from each of ``begins`` to the next."""
    return embedding_bag(torch.from_numpy(rows), table, torch.from_numpy(begins), mode="sum")
