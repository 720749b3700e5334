"""How many labelled images are found again by their neighbors in kind: as counted one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from legogcd.run.found_again import found_again


@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(1, 6), spread=st.sampled_from([0.1, 1.0, 5.0]))
def test_each_image_is_held_against_the_means_of_all_classes_without_itself(
    seed: int, n_classes: int, spread: float
) -> None:
    random = np.random.default_rng(seed)
    labels = random.permutation(np.repeat(np.arange(n_classes) * 3, 2 + random.integers(4)))  # with gaps
    points = random.normal(size=(20, 8))[labels] + spread * random.normal(size=(len(labels), 8))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    right = 0
    for row, point in enumerate(points):
        others = np.arange(len(points)) != row
        cosines = {}
        for number in set(labels.tolist()):
            mean = points[others & (labels == number)].mean(axis=0)
            cosines[number] = point @ mean / np.linalg.norm(mean)
        right += max(cosines, key=lambda number: cosines[number]) == labels[row]
    assert found_again(points, labels) == right / len(points)


def test_the_only_image_of_a_class_is_not_found_again() -> None:
    points = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert found_again(points, np.array([0, 0, 1])) == 2 / 3
