"""How strange an image is: a share of the run's own images, and false alarms as often as was said."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from legogcd.evaluation.strangers import Nearness, nearest_distance, usual_distances


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.01, 0.05, 0.2]))
def test_as_many_images_that_belong_are_called_strangers_as_was_said(seed: int, rate: float) -> None:
    random = np.random.default_rng(seed)
    usual = usual_distances(random.normal(size=4000))
    assert usual is not None
    others = random.normal(size=20_000)  # of the same kind, not seen before
    assert usual.strangers(others, rate).mean() == pytest.approx(
        rate, abs=5 * (rate * (1 - rate) / 4000) ** 0.5
    )  # standard errors
    assert usual.strangers(random.normal(6, 1, 500), rate).mean() > 0.95


def test_strangeness_is_the_share_of_the_own_images_that_fit_better() -> None:
    random = np.random.default_rng(0)
    own, others = random.gamma(2, size=3000), random.gamma(3, size=200)
    usual = usual_distances(own)
    assert usual is not None
    counted = [(own < value).sum() / 3001 for value in others]  # plainly
    np.testing.assert_allclose(usual.strangeness(others), counted, atol=0.005)
    assert (np.diff(usual.strangeness(np.sort(others))) >= 0).all()


def test_flag_and_score_agree() -> None:
    values = np.linspace(-1, 3, 401)
    usual = usual_distances(np.random.default_rng(1).normal(1, 0.5, 500))
    assert usual is not None
    away = np.abs(usual.strangeness(values) - 0.95) > 0.002
    np.testing.assert_array_equal(usual.strangers(values)[away], (usual.strangeness(values) > 0.95)[away])


def test_a_stranger_may_be_as_sure_of_the_wrong_category_as_an_image_that_belongs() -> None:
    """Both rows have the same probabilities; only one of them is near a prototype."""
    logits = np.array([[0.9, 0.2, 0.1], [0.75, 0.05, -0.05]])
    probabilities = np.exp(10 * logits) / np.exp(10 * logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(*probabilities)
    near, far = nearest_distance(logits)
    assert far > near + 0.1


def test_few_images_cannot_tell_what_is_usual() -> None:
    assert usual_distances(np.zeros(19)) is None
    assert usual_distances(np.zeros(20)) is not None


def test_an_image_is_held_against_its_category_without_itself() -> None:
    random = np.random.default_rng(0)
    points = random.normal(size=(9, 6)) + 2 * np.eye(6)[np.repeat([0, 1, 2], 3)]
    units = points / np.linalg.norm(points, axis=1, keepdims=True)
    labels = np.array([0, -1, -1, 1, -1, -1, 2, -1, -1])
    own = np.repeat([0, 1, 2], 3)
    sums = np.stack([units[own == number].sum(axis=0) for number in range(3)])
    logits = units @ (sums / np.linalg.norm(sums, axis=1, keepdims=True)).T
    near = Nearness.of(logits, labels)
    assert near.own.tolist() == own.tolist()
    np.testing.assert_allclose(near.distances(), nearest_distance(logits))
    expected = []
    for row in range(9):  # plainly
        without = sums.copy()
        without[own[row]] -= units[row]
        expected.append(1 - (without @ units[row] / np.linalg.norm(without, axis=1)).max())
    np.testing.assert_allclose(near.without_themselves().distances(), expected, atol=1e-9)


def test_nothing_is_left_of_a_category_of_one_image() -> None:
    alone = Nearness.of(np.array([[1.0, 0.3], [0.2, 0.9]]), np.array([-1, -1]))
    assert alone.without_themselves().distances().tolist() == pytest.approx([0.7, 0.8])


def test_false_alarms_are_as_rare_as_was_said_where_classes_are_small() -> None:
    """Prototypes are means of eight images each: their own images look nearer to them than others of the same kind."""
    random, plain, held_apart = np.random.default_rng(0), [], []
    for _ in range(20):
        centers = random.normal(size=(40, 16))

        def draw(each: int, centers: np.ndarray = centers) -> np.ndarray:
            points = np.repeat(centers, each, axis=0) + random.normal(size=(40 * each, 16))
            return points / np.linalg.norm(points, axis=1, keepdims=True)

        own, others = draw(8), draw(10)
        sums = own.reshape(40, 8, 16).sum(axis=1)
        prototypes = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        near, later = (
            Nearness.of(own @ prototypes.T, np.repeat(np.arange(40), 8)),
            nearest_distance(others @ prototypes.T),
        )
        for usual, alarms in ((near, plain), (near.without_themselves(), held_apart)):
            found = usual_distances(usual.distances())
            assert found is not None
            alarms.append(found.strangers(later).mean())
    assert np.mean(plain) > 0.1
    assert 0.035 < np.mean(held_apart) < 0.055


def test_of_few_images_what_is_beyond_them_all_is_a_stranger() -> None:
    usual = usual_distances(np.arange(30.0))
    assert usual is not None
    for rate in (0.0, 0.01, 0.03):
        assert usual.strangers(np.array([28.9, 29.0, 29.1]), rate).tolist() == [False, False, True]
