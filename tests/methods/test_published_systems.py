"""GCD, RankStats+, UNO+ and ORCA with their published recipes: loss and gradient against the formulas, in float64.

What is compared with is written from the published formulas alone, image by image, and differentiated by itself.
"""

import math

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from legogcd.clustering import semi_supervised_kmeans
from legogcd.clustering.kmeans.seeding import Seeding
from legogcd.methods import build_method, choose_recipe
from legogcd.training.draw import DRAWS, epoch_generator
from legogcd.training.optimizer import build_optimizer, rate_at

LABELS = torch.tensor([0, 1, 0, 2, -1, -1, -1, -1])
BACKBONE = "facebook/dino-vitb16"


def build(name, **settings):
    """A method in float64 with the recipe ``--recipe paper`` gives it, and two views of eight images."""
    torch.manual_seed(0)
    recipe = choose_recipe("paper", name, BACKBONE, settings)
    method = build_method(name, 6, 5, 3, recipe).double()
    method.train()
    method.after_step()  # a start in float32 is not of length 1 in float64
    return method, torch.randn(2, 8, 6, dtype=torch.float64, requires_grad=True)


def compare(method, features, formula, epoch=0):
    """The step's loss and gradients are those of ``formula(features)``."""
    leaves = [features, *(p for p in method.parameters() if p.requires_grad)]
    loss = method.step(features, LABELS, epoch, torch.arange(8)).loss
    expected = formula(features)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-12)
    ours, theirs = (torch.autograd.grad(x, leaves, allow_unused=True, materialize_grads=True) for x in (loss, expected))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)
    assert max(gradient.abs().max() for gradient in theirs) > 1e-6


def test_gcd_contrasts_the_outputs_of_a_dino_head():
    method, features = build("gcd", projector_hidden=8, bottleneck=4, projector_out=7)

    def formula(h: Tensor) -> Tensor:
        outputs = normalize(method.projector(h.flatten(0, 1)), dim=-1)  # the 7 outputs themselves
        unsupervised, supervised = [], []
        for i in range(16):
            others = [j for j in range(16) if j != i]
            logits = torch.stack([outputs[i] @ outputs[j] for j in others])
            unsupervised.append(logits.logsumexp(0) - outputs[i] @ outputs[(i + 8) % 16])
            if LABELS[i % 8] >= 0:
                rivals = [j for j in others if LABELS[j % 8] >= 0]
                total = torch.stack([outputs[i] @ outputs[j] / 0.07 for j in rivals]).logsumexp(0)
                alike = [outputs[i] @ outputs[j] / 0.07 for j in rivals if LABELS[j % 8] == LABELS[i % 8]]
                supervised.append(total - torch.stack(alike).mean())
        return 0.65 * torch.stack(unsupervised).mean() + 0.35 * torch.stack(supervised).mean()

    compare(method, features, formula)


@pytest.mark.parametrize("epoch", [0, 60, 170])
def test_rankstats_has_its_cross_entropy_on_first_views(epoch):
    method, features = build("rankstats")

    def formula(h: Tensor) -> Tensor:
        first, second = ((view @ method.head.weight.T + method.head.bias).softmax(-1) for view in h)
        ce = torch.stack([-first[i, LABELS[i]].log() for i in range(4)]).mean()
        tops = [set(row.argsort(descending=True)[:5].tolist()) for row in h[0]]
        bce = []
        for i in range(4, 8):
            for j in range(4, 8):
                together = first[i] @ second[j]
                bce.append(-(together if tops[i] == tops[j] else 1 - together).log())
        ramp = 50 * math.exp(-5 * (1 - min(epoch / 150, 1)) ** 2)
        return ce + torch.stack(bce).mean() + ramp * 2 * ((first - second) ** 2).mean()

    compare(method, features, formula, epoch)


def test_orca_has_cross_entropy_and_entropy_on_first_views():
    method, features = build("orca")
    method.margin_ce.uncertainty.fill_(0.3)

    def formula(h: Tensor) -> Tensor:
        directions = normalize(h, dim=-1)
        first, second = (10 * view @ normalize(method.prototypes.weight, dim=-1).T for view in directions)
        ce = []
        for i in range(4):
            scores = [first[i, k] + 10 * 0.3 * (k == LABELS[i]) for k in range(5)]
            ce.append(torch.stack(scores).logsumexp(0) - scores[LABELS[i]])
        p, q = first.softmax(-1), second.softmax(-1)
        partner = {0: 2, 1: 1, 2: 0, 3: 3}  # the other one of the class; itself where there is none
        for i in range(4, 8):
            partner[i] = max(
                (j for j in range(8) if j != i), key=lambda j, i=i: float(directions[0, i] @ directions[0, j])
            )
        pairs = torch.stack([-(p[i] @ q[j]).log() for i, j in partner.items()]).mean()
        mean = p.mean(0)
        return torch.stack(ce).mean() + pairs + math.log(5) + (mean * mean.log()).sum()

    compare(method, features, formula)


def test_uno_normalizes_one_view_at_a_time_and_takes_inner_products_with_unit_prototypes():
    method, features = build("uno", heads=2, head_hidden=8, head_out=4, over_clustering=2)

    def predictions(h: Tensor, head) -> list[Tensor]:
        first, norm, _, last, prototypes = head
        views = []
        for view in h:
            a = view @ first.weight.T + first.bias
            a = (a - a.mean(0)) / (a.var(0, unbiased=False) + norm.eps).sqrt() * norm.weight + norm.bias
            g = normalize(a.clamp_min(0) @ last.weight.T + last.bias, dim=-1)
            known = normalize(view, dim=-1) @ method.known.weight.T  # not divided by its length: that is 1
            views.append(torch.cat([known, g @ prototypes.weight.T], dim=-1))
        return views

    def swapped(logits: list[Tensor]) -> Tensor:
        losses = []
        for student, teacher in ((0, 1), (1, 0)):
            q = (logits[teacher][4:].detach() / 0.05).exp()
            for _ in range(3):
                q = q / q.sum(0)
                q = q / q.sum(1, keepdim=True)
            log_p = (logits[student] / 0.1).log_softmax(-1)
            losses += [-log_p[i, LABELS[i]] for i in range(4)] + [-(q[i] @ log_p[4 + i]) for i in range(4)]
        return torch.stack(losses).mean()

    def formula(h: Tensor) -> Tensor:
        kinds = (method.heads, method.over_heads)
        return sum(torch.stack([swapped(predictions(h, head)) for head in heads]).mean() for heads in kinds) / 2

    compare(method, features, formula)


def test_uno_brings_its_prototypes_to_length_one_after_every_step():
    method, features = build("uno", heads=2, head_hidden=8, head_out=4)
    optimizer = build_optimizer(torch.nn.Identity(), method, method.recipe)
    weights = [method.known.weight, *(head[-1].weight for head in [*method.heads, *method.over_heads])]
    before = [weight.detach().clone() for weight in weights]
    method.step(features, LABELS, 0, torch.arange(8)).loss.backward()
    optimizer.step()
    assert any((weight.norm(dim=-1) - 1).abs().max() > 1e-4 for weight in weights)
    method.after_step()
    for weight, old in zip(weights, before, strict=True):
        torch.testing.assert_close(weight.norm(dim=-1), torch.ones(len(weight), dtype=torch.float64))
        assert not torch.equal(weight, old)


def test_unos_rate_rises_from_a_hundredth_in_nine_equal_steps_and_falls_back_to_it():
    recipe = choose_recipe("paper", "uno", BACKBONE)
    rates = [rate_at(recipe, epoch) for epoch in range(200)]
    assert rates[:11] == pytest.approx([*np.linspace(0.001, 0.1, 10), 0.1])
    assert rates[105] == pytest.approx((0.1 + 0.001) / 2)
    assert rates[199] == pytest.approx(0.001, rel=0.01)


def test_rankstats_rate_falls_once():
    recipe = choose_recipe("cifar100", "rankstats", BACKBONE)
    assert [rate_at(recipe, epoch) for epoch in (0, 85, 169, 170, 199)] == pytest.approx([0.1, 0.1, 0.1, 0.01, 0.01])


@pytest.mark.parametrize("name", ["gcd", "uno", "rankstats", "orca"])
def test_weight_decay_is_on_every_parameter_as_published_and_on_matrices_in_ours(name):
    decays = []
    for recipe in ("paper", "default"):
        method = build_method(name, 6, 5, 3, choose_recipe(recipe, name, BACKBONE))
        tail = torch.nn.LayerNorm(3)
        groups = build_optimizer(tail, method, method.recipe).param_groups
        decays.append({id(tail.bias) in map(id, group["params"]): group["weight_decay"] for group in groups}[True])
    assert decays == [choose_recipe("paper", name, BACKBONE).weight_decay, 0]


def test_orcas_batches():
    recipe = choose_recipe("paper", "orca", BACKBONE)
    assert (recipe.batch_size, recipe.weight_decay, recipe.batches) == (512, 5e-4, "proportional")
    labels = torch.tensor([0] * 600 + [-1] * 1800)[torch.randperm(2400)]
    batches = list(DRAWS[recipe.batches](labels, recipe.batch_size, epoch_generator(0, 0)))
    assert [int((labels[batch] >= 0).sum()) for batch in batches] == [128] * 4
    assert all(len(batch) == 512 for batch in batches)
    assert len(torch.cat(batches).unique()) == 4 * 512  # nothing is drawn twice
    again, other = (torch.cat(list(DRAWS["proportional"](labels, 512, epoch_generator(0, e)))) for e in (0, 1))
    assert torch.equal(again, torch.cat(batches))
    assert not torch.equal(again, other)


@pytest.mark.parametrize("labels", [[0], [-1], [0, -1], [0] * 3, [-1] * 5, [0] + [-1] * 30])
def test_proportional_batches_of_few_images(labels):
    batches = list(DRAWS["proportional"](torch.tensor(labels), 8, epoch_generator(0, 0)))
    assert batches
    assert len(torch.cat(batches).unique()) == len(torch.cat(batches)) <= len(labels)


def test_gcd_starts_its_clusters_a_hundred_times_by_plain_draws():
    recipe = choose_recipe("paper", "gcd", BACKBONE)
    assert (recipe.n_init, recipe.seeding, recipe.decayed) == (100, "plain", "all")
    ours = choose_recipe("default", "gcd", BACKBONE)
    assert (ours.n_init, ours.seeding, ours.decayed) == (None, "greedy", "matrices")


def test_plain_draws_are_in_proportion_to_the_squared_distance():
    """One known center at 0 that stands for many points, three points at 1, 2 and 3: drawn as 1 : 4 : 9."""
    points = np.array([[1.0], [2.0], [3.0]], dtype=np.float32)
    seeding = Seeding(points, (points**2)[:, 0], np.zeros((1, 1), np.float32), np.array([50]), k=2, draws="plain")
    assert seeding.tries == 1
    starts = list(seeding.starts(np.random.default_rng(0), 14_000))
    shares = np.bincount([int(start.drawn[0]) for start in starts], minlength=3) / 14_000
    assert shares == pytest.approx(np.array([1, 4, 9]) / 14, abs=0.015)
    drawn_last = next(start for start in starts if start.drawn[0] == 2)
    assert drawn_last.cost.tolist() == [1, 1, 0]  # squared distances as they are, to 0 and to 3
    assert drawn_last.clusters.tolist() == [0, 1, 1]


def test_a_known_class_without_a_label_keeps_its_place():
    random = np.random.default_rng(0)
    truth = np.repeat(np.arange(5), 12)
    points = 6 * np.eye(5)[truth] + random.normal(0, 0.2, (60, 5))
    labels = np.where((truth < 3) & (truth != 1) & (np.arange(60) % 2 == 0), truth, -1)  # class 1 of 0, 1, 2 has none
    found = semi_supervised_kmeans(points, labels, 5, seed=0, n_known=3)
    assert (found.labels[truth == 0] == 0).all()
    assert (found.labels[truth == 2] == 2).all()
    assert sorted({tuple(found.labels[truth == c]) for c in (1, 3, 4)}) == [(1,) * 12, (3,) * 12, (4,) * 12]
    np.testing.assert_allclose(found.centers[2], points[truth == 2].mean(axis=0), rtol=1e-5)
    same = semi_supervised_kmeans(points, np.where(labels == 2, 1, labels), 5, seed=0)
    assert found.inertia == same.inertia
