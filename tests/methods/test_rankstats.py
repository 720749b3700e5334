"""RankStats+: its recipe, its loss by terms, its start."""

import math

import numpy as np
import pytest
import torch

from legogcd.methods.baselines.rankstats import RankStats
from legogcd.methods.recipes.rankstats import RankStatsRecipe

LABELS = torch.tensor([0, 1, 2, 0, -1, -1, -1, -1])


def build(dim=8, n_classes=5, n_known=3, **settings):
    torch.manual_seed(0)
    ours = {"supervised_views": "both"}  # the published form is in test_published_systems.py
    return RankStats(dim, n_classes, n_known, RankStatsRecipe(**ours | settings))


def grouped(seed=0, norm=1.0):
    """Four well-separated groups of 20, half of the first two groups' images labelled."""
    random = np.random.default_rng(seed)
    truth = np.repeat(np.arange(4), 20)
    features = (np.eye(6)[truth] * 3 + random.normal(0, 0.1, (80, 6))).astype(np.float32)
    features *= norm / np.linalg.norm(features, axis=1).mean()
    return features, truth, np.where((truth < 2) & (np.arange(80) % 2 == 0), truth, -1)


def test_the_published_recipe():
    recipe = RankStatsRecipe()
    assert (recipe.learning_rate, recipe.weight_decay, recipe.epochs, recipe.batch_size) == (0.1, 1e-4, 200, 128)
    assert recipe.schedule == "steps"
    assert [share * 200 for share in recipe.rate_steps] == [170]
    assert (recipe.top, recipe.consistency_weight, recipe.consistency_ramp * 200) == (5, 50, 150)


@pytest.mark.parametrize(
    ("epoch", "weight"), [(0, 50 * math.exp(-5)), (75, 50 * math.exp(-1.25)), (150, 50), (199, 50)]
)
def test_the_consistency_ramps_up_over_three_quarters_of_the_epochs(epoch, weight):
    assert build().consistency_weight(epoch) == pytest.approx(weight)


def test_a_short_run_scales_the_ramp():
    method = build(epochs=20, consistency_weight=5.0, consistency_ramp=0.25)
    assert method.consistency_weight(5) == 5.0 > method.consistency_weight(4)
    assert build(consistency_ramp=0.0).consistency_weight(0) == 50


@pytest.mark.parametrize("epoch", [0, 60, 170])
def test_the_loss_is_the_weighted_sum_of_terms_computed_plainly(epoch):
    method = build()
    features = torch.randn(2, 8, 8)
    step = method.step(features, LABELS, epoch, torch.arange(8))
    first, second = (features @ method.head.weight.T + method.head.bias).double().softmax(-1).detach()
    ce = -sum(math.log(p[i, LABELS[i]]) for p in (first, second) for i in range(4)) / 8
    tops = [set(row.argsort(descending=True)[:5].tolist()) for row in features[0]]
    bce = 0.0
    for i in range(4, 8):
        for j in range(4, 8):
            together = float(first[i] @ second[j])
            bce -= math.log(together if tops[i] == tops[j] else 1 - together) / 16
    consistency = 2 * float(((first - second) ** 2).mean())
    expected = {"supervised_ce": ce, "rank_statistics": bce, "view_consistency": consistency}
    assert {name: term.item() for name, term in step.terms.items()} == pytest.approx(expected, rel=1e-5)
    ramp = 50 * math.exp(-5 * (1 - min(epoch / 150, 1)) ** 2)
    assert step.loss.item() == pytest.approx(ce + bce + ramp * consistency, rel=1e-5)
    assert {name: int(count) for name, count in step.selected.items() if name != "confident_known"} == {
        "supervised_ce": 8,
        "rank_statistics": 8,
        "view_consistency": 16,
    }


def test_confident_known_views_are_counted():
    method = build(dim=5, n_classes=5)
    with torch.no_grad():
        method.head.weight.copy_(10 * torch.eye(5))
        method.head.bias.zero_()
    features = torch.eye(5).repeat(2, 1, 1)  # image k is surely of class k; 0, 1, 2 are known
    step = method.step(features, torch.tensor([-1, 1, -1, -1, -1]), 0, torch.arange(5))
    assert int(step.selected["confident_known"]) == 2 * 2
    assert method.probabilities(torch.eye(5)).sum(-1).allclose(torch.ones(5))


def test_twenty_steps_lower_the_loss():
    method = build()
    features = torch.randn(2, 8, 8)
    optimizer = torch.optim.SGD(method.parameters(), lr=0.05)
    losses = []
    for _ in range(20):
        step = method.step(features, LABELS, 50, torch.arange(8))
        optimizer.zero_grad()
        step.loss.backward()
        optimizer.step()
        losses.append(step.loss.item())
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("labels", [[-1] * 8, [0] * 8, [0, 1, 2] + [-1] * 5])
def test_any_mix_of_labels_gives_a_finite_step(labels):
    method = build()
    step = method.step(torch.randn(2, 8, 8), torch.tensor(labels), 0, torch.arange(8))
    step.loss.backward()
    assert torch.isfinite(step.loss)
    assert torch.isfinite(method.head.weight.grad).all()


@pytest.mark.parametrize("norm", [0.5, 45.0])
def test_a_kmeans_start_sorts_at_once_and_is_as_sharp_whatever_the_features_length(norm):
    features, truth, labels = grouped(norm=norm)
    method = build(dim=6, n_classes=4, n_known=2)
    method.start(features, labels, seed=0)
    probabilities = method.probabilities(torch.from_numpy(features)).detach()
    predicted = probabilities.argmax(-1).numpy()
    assert (predicted[truth < 2] == truth[truth < 2]).all()
    assert [len(set(predicted[truth == new])) for new in (2, 3)] == [1, 1]
    assert predicted[truth == 2][0] != predicted[truth == 3][0]
    # The groups are orthogonal: cosines near 1 and 0, logits near 10 and 0.
    assert float(probabilities.amax(-1).mean()) == pytest.approx(1 / (1 + 3 * math.exp(-10)), abs=1e-3)
    largest = method.logits(torch.from_numpy(features)).detach().amax(-1)
    assert float(largest.mean()) == pytest.approx(10, rel=0.02)


def test_half_precision_features_are_classified_in_float32():
    method = build()
    features = torch.randn(2, 8, 8).bfloat16()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        step = method.step(features, LABELS, 0, torch.arange(8))
    assert step.loss == method.step(features, LABELS, 0, torch.arange(8)).loss
    assert step.loss.dtype == torch.float32
