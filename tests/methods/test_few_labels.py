"""Where known classes start: at the mean of many labelled images, or around a few of them."""

import numpy as np
import pytest

from legogcd.clustering import directions
from legogcd.methods.kmeans_start import kmeans_centers


def two_kinds() -> np.ndarray:
    """Thirty images of each of two kinds; the first of each is far from the middle of its kind."""
    random = np.random.default_rng(0)
    points = np.repeat(np.eye(6)[:2], 30, axis=0) + 0.15 * random.normal(size=(60, 6))
    points[[0, 30], 4] += 0.7
    return directions(points.astype(np.float32))


@pytest.mark.parametrize(("labelled", "share"), [(1, 1 / 8), (4, 4 / 8), (8, 1.0), (20, 1.0)])
def test_the_fewer_labels_the_more_the_images_around_them_count(labelled: int, share: float) -> None:
    points = two_kinds()
    labels = np.full(60, -1)
    labels[:labelled] = 0
    center = kmeans_centers(points, labels, n_classes=2, n_known=1, seed=0)[0].numpy()
    own, kind = points[:labelled].mean(0), points[:30].mean(0)
    assert center == pytest.approx(share * own + (1 - share) * kind, abs=1e-5)
    if labelled == 1:
        assert np.linalg.norm(center - kind) < 0.2 * np.linalg.norm(own - kind)
