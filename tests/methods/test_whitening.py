import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.covariance import LedoitWolf
from sklearn.decomposition import PCA

from legogcd.clustering import directions, semi_supervised_kmeans
from legogcd.methods.legogcd_plus.whitening import Whitening


def sample(seed, n=120, dim=12, classes=6, nuisance=4.0):
    """Points of several classes that differ along a few axes, far more spread along others; half have known labels."""
    random = np.random.default_rng(seed)
    truth = np.arange(n) % classes
    means = random.normal(size=(classes, dim))
    loud = random.normal(size=(3, dim))
    points = 6 + means[truth] + nuisance * random.normal(size=(n, 3)) @ loud + 0.3 * random.normal(size=(n, dim))
    labels = np.where((truth < classes // 2) & (np.arange(n) % 4 < 2), truth, -1)
    return points.astype(np.float32), labels, truth


def fitted(features, labels, out):
    whitening = Whitening(features.shape[1], out)
    whitening.fit(features, labels)
    return whitening


@pytest.mark.parametrize("out", [2, 5, 12])
def test_matches_scikit_learn_step_by_step(out):
    features, labels, _ = sample(0)
    points = directions(features).astype(np.float64)
    projected = PCA(out).fit_transform(points)
    within = np.concatenate([projected[labels == k] - projected[labels == k].mean(0) for k in range(3)])
    precision = LedoitWolf(assume_centered=True).fit(within).precision_
    expected = projected @ precision @ projected.T  # inner products: what is left free is a rotation and a scale

    ours = fitted(features, labels, out)(torch.from_numpy(features)).double().numpy()
    products = ours @ ours.T
    assert products / np.trace(products) == pytest.approx(expected / np.trace(expected), abs=1e-5)


def test_labelled_images_spread_alike_in_every_direction():
    features, labels, _ = sample(1, n=8000, nuisance=0.5)  # many images: little is shrunk
    mapped = fitted(features, labels, 5)(torch.from_numpy(features)).double().numpy()

    def unevenness(points):
        within = np.concatenate([points[labels == k] - points[labels == k].mean(0) for k in range(3)])
        return np.linalg.cond(within.T @ within)

    assert unevenness(PCA(5).fit_transform(directions(features))) > 10
    assert unevenness(mapped) < 1.2


@given(st.integers(0, 50))
def test_turning_the_features_changes_nothing(seed):
    features, labels, _ = sample(seed % 5)
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(12, 12)))[0].astype(np.float32)
    plain, turned = (
        torch.nn.functional.normalize(fitted(x, labels, 6)(torch.from_numpy(x)), dim=-1)
        for x in (features, features @ turn)
    )
    assert torch.allclose(plain @ plain.T, turned @ turned.T, atol=2e-3)


def test_new_classes_gain_by_what_the_labelled_ones_say():
    features, labels, truth = sample(3, n=600)
    mapped = fitted(features, labels, 12)(torch.from_numpy(features)).numpy()

    def agreement(points):
        clusters = semi_supervised_kmeans(directions(points), labels, 6, seed=0).labels[truth >= 3]
        return np.mean([np.bincount(truth[truth >= 3][clusters == c]).max() for c in set(clusters)]) / 100

    assert agreement(mapped) > agreement(features) + 0.2


def test_single_labelled_images_leave_the_principal_axes():
    features, _, _ = sample(2)
    labels = np.full(len(features), -1)
    labels[:3] = [0, 1, 2]
    mapped = fitted(features, labels, 4)(torch.from_numpy(features)).numpy()
    expected = PCA(4).fit_transform(directions(features).astype(np.float64))
    assert np.abs(mapped) == pytest.approx(np.abs(expected), abs=1e-5)


def test_fewer_images_than_dimensions():
    features, labels, _ = sample(4, n=12, dim=40)
    mapped = fitted(features, labels, 32)(torch.from_numpy(features))
    assert mapped.shape == (12, 32)
    assert torch.isfinite(mapped).all()


def test_float64_features_stay_float64_and_half_ones_become_float32():
    features, labels, _ = sample(0)
    whitening = fitted(features, labels, 5)
    exact = torch.from_numpy(features).double()
    by_hand = (exact / exact.norm(dim=-1, keepdim=True) - whitening.origin.double()) @ whitening.map.double()
    torch.testing.assert_close(whitening(exact), by_hand, rtol=1e-12, atol=1e-12)
    assert whitening(exact.half()).dtype == torch.float32
