"""k-means as a method: nothing trained, clusters take the names of the labelled images in them."""

import numpy as np
import torch

from legogcd.methods import build_method


def three_groups() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 30)
    return (5 * np.eye(4)[truth] + random.normal(0, 0.2, (90, 4))).astype(np.float32), truth


def test_clusters_take_the_names_of_the_labelled_images_in_them() -> None:
    features, truth = three_groups()
    labels = np.where(np.arange(90) % 3 == 0, truth, -1)
    labels[truth == 2] = -1
    for seed in range(5):  # whatever order k-means finds the clusters in
        method = build_method("kmeans", dim=4, n_classes=3, n_known=2)
        method.finish(features, labels, seed)
        probabilities = method.probabilities(torch.from_numpy(features))
        assert (probabilities.argmax(-1).numpy() == truth).all()
        assert (method.logits(torch.from_numpy(features)).argmax(-1).numpy() == truth).all()
        torch.testing.assert_close(probabilities.sum(-1), torch.ones(90))


def test_labels_do_not_move_the_clusters() -> None:
    features, truth = three_groups()
    centers = []
    for labels in (np.where(truth < 2, truth, -1), np.where(truth < 2, 1 - truth, -1)):
        method = build_method("kmeans", dim=4, n_classes=3, n_known=2)
        method.finish(features, labels, seed=0)
        centers.append(method.centers.numpy())
    np.testing.assert_array_equal(centers[0][[1, 0, 2]], centers[1])


def test_the_length_of_a_feature_does_not_matter() -> None:
    features, truth = three_groups()
    lengths = np.random.default_rng(1).uniform(0.1, 10, (90, 1)).astype(np.float32)
    method = build_method("kmeans", dim=4, n_classes=3, n_known=2)
    method.finish(features * lengths, np.where(truth < 2, truth, -1), seed=0)
    assert (method.logits(torch.from_numpy(features)).argmax(-1).numpy() == truth).all()


def test_semi_supervised_kmeans_holds_labelled_images_in_their_class() -> None:
    features, truth = three_groups()
    labels = np.where((np.arange(90) % 3 == 0) & (truth < 2), truth, -1)
    method = build_method("sskmeans", dim=4, n_classes=3, n_known=2)
    method.finish(features, labels, seed=0)
    assert (method.logits(torch.from_numpy(features)).argmax(-1).numpy() == truth).all()
    swapped = np.where(labels >= 0, 1 - labels, -1)  # the names follow the labels, not the order of the clusters
    method.finish(features, swapped, seed=0)
    expected = np.where(truth < 2, 1 - truth, truth)
    assert (method.logits(torch.from_numpy(features)).argmax(-1).numpy() == expected).all()
