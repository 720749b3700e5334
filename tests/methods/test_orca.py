"""ORCA: its recipe, its loss by terms, the uncertainty it measures, its start."""

import math

import numpy as np
import pytest
import torch

from legogcd.methods.baselines.orca import ORCA
from legogcd.methods.recipes.orca import ORCARecipe

LABELS = torch.tensor([0, 1, 0, 1, -1, -1, -1, -1])
INDEX = torch.arange(8)


def build(dim=8, n_classes=5, n_known=3, **settings):
    torch.manual_seed(0)
    ours = {"supervised_views": "both", "entropy_views": "both"}  # published: test_published_systems.py
    return ORCA(dim, n_classes, n_known, ORCARecipe(**ours | settings))


def plain_probabilities(method, features):
    """softmax(s·cos), cosine by cosine, in float64."""
    weight = method.prototypes.weight.detach().double()
    cosines = torch.nn.functional.cosine_similarity(features.double()[..., None, :], weight, dim=-1)
    return (method.recipe.scale * cosines).softmax(-1), cosines


def test_the_recipe():
    recipe = ORCARecipe()
    assert (recipe.learning_rate, recipe.epochs, recipe.schedule, recipe.rate_steps) == (0.1, 200, "steps", (0.7, 0.9))
    assert (recipe.scale, recipe.largest_margin, recipe.mean_entropy_weight) == (10, 0.5, 1)


def test_uncertainty_is_measured_on_the_unlabelled_images_before_an_epoch():
    method = build()
    features = torch.randn(7, 8)
    labels = torch.tensor([0, -1, -1, 2, -1, 1, -1])
    method.before_epoch(0, lambda: iter(features.split(3)), labels)
    p, _ = plain_probabilities(method, features)
    expected = 1 - np.mean([float(p[i].max()) for i in (1, 2, 4, 6)])
    assert float(method.margin_ce.uncertainty) == pytest.approx(expected, rel=1e-5)
    assert not method.margin_ce.uncertainty.requires_grad


def test_without_unlabelled_images_there_is_no_uncertainty():
    method = build()
    method.before_epoch(0, lambda: iter([torch.randn(2, 8)]), torch.tensor([0, 1]))
    assert method.margin_ce.uncertainty == 0


@pytest.mark.parametrize("uncertainty", [0.0, 0.25, 0.9])
def test_the_loss_is_the_weighted_sum_of_terms_computed_plainly(uncertainty):
    method = build(mean_entropy_weight=3.0)
    method.margin_ce.uncertainty.fill_(uncertainty)
    features = torch.randn(2, 8, 8)
    step = method.step(features, LABELS, 0, INDEX)
    (first, second), cosines = plain_probabilities(method, features)

    ce = 0.0
    for view in cosines:
        for i in range(4):
            scores = 10 * view[i]
            scores[LABELS[i]] += 10 * min(uncertainty, 0.5)
            ce -= float(scores.log_softmax(-1)[LABELS[i]]) / 8
    partner = {0: 2, 1: 3, 2: 0, 3: 1}  # the only other one of the class
    norms = torch.nn.functional.normalize(features[0], dim=-1)
    for i in range(4, 8):
        partner[i] = max((j for j in range(8) if j != i), key=lambda j, i=i: float(norms[i] @ norms[j]))
    pairs = -sum(math.log(first[i] @ second[j]) for i, j in partner.items()) / 8
    mean = torch.cat([first, second]).mean(0)
    entropy = math.log(5) + float((mean * mean.log()).sum())

    expected = {"margin_ce": ce, "neighbor_pairs": pairs, "mean_entropy": entropy}
    assert {name: term.item() for name, term in step.terms.items()} == pytest.approx(expected, rel=1e-4)
    assert step.loss.item() == pytest.approx(ce + pairs + 3 * entropy, rel=1e-4)
    assert {name: int(count) for name, count in step.selected.items() if name != "confident_known"} == {
        "margin_ce": 8,
        "neighbor_pairs": 16,
        "mean_entropy": 16,
    }


def test_a_resumed_method_takes_the_very_same_step():
    method, resumed = build(), build()
    method.before_epoch(3, lambda: iter([torch.randn(8, 8)]), LABELS)
    resumed.load_state_dict(method.state_dict())
    features, labels = torch.randn(2, 8, 8), torch.zeros(8, dtype=torch.long)
    before = method.step(features, labels, 3, INDEX)
    torch.rand(5)  # what somebody else draws has no say
    assert resumed.step(features, labels, 3, INDEX).loss == before.loss
    assert method.step(features, labels, 4, INDEX).loss != before.loss  # another epoch, other partners


def test_confident_known_views_are_counted():
    method = build(dim=5, n_classes=5)
    method.prototypes.start_at(torch.eye(5))
    step = method.step(torch.eye(5).repeat(2, 1, 1), torch.tensor([-1, 1, -1, -1, -1]), 0, torch.arange(5))
    assert int(step.selected["confident_known"]) == 2 * 2  # of the known 0, 1, 2, image 1 is labelled
    p, cosines = plain_probabilities(method, torch.eye(5))
    torch.testing.assert_close(method.probabilities(torch.eye(5)), p.float())
    torch.testing.assert_close(method.logits(torch.eye(5)), cosines.float())


def test_twenty_steps_lower_the_loss():
    method = build()
    features = torch.randn(2, 8, 8)
    optimizer = torch.optim.SGD(method.parameters(), lr=0.05)
    losses = []
    for _ in range(20):
        step = method.step(features, LABELS, 0, INDEX)
        optimizer.zero_grad()
        step.loss.backward()
        optimizer.step()
        losses.append(step.loss.item())
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("labels", [[-1] * 8, [0] * 8, [0, 1, 2] + [-1] * 5])
def test_any_mix_of_labels_gives_a_finite_step(labels):
    method = build()
    step = method.step(torch.randn(2, 8, 8), torch.tensor(labels), 0, INDEX)
    step.loss.backward()
    assert torch.isfinite(step.loss)
    assert torch.isfinite(method.prototypes.weight.grad).all()


def test_a_kmeans_start_puts_known_prototypes_on_labelled_means_and_new_ones_on_groups():
    random = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), 20)
    features = (np.eye(6)[truth] * 3 + random.normal(0, 0.1, (80, 6))).astype(np.float32)
    labels = np.where((truth < 2) & (np.arange(80) % 2 == 0), truth, -1)
    method = build(dim=6, n_classes=4, n_known=2)
    method.start(features, labels, seed=0)
    predicted = method.logits(torch.from_numpy(features)).argmax(-1).numpy()
    assert (predicted[truth < 2] == truth[truth < 2]).all()
    assert [len(set(predicted[truth == new])) for new in (2, 3)] == [1, 1]
    assert predicted[truth == 2][0] != predicted[truth == 3][0]
    directions = features / np.linalg.norm(features, axis=1, keepdims=True)
    mean = torch.from_numpy(directions[labels == 1].mean(axis=0))
    assert torch.nn.functional.cosine_similarity(method.prototypes.weight[1], mean, dim=0).item() == pytest.approx(1)
    torch.testing.assert_close(method.prototypes.weight.norm(dim=-1), torch.full((4,), 3**-0.5))
