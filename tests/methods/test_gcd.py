"""GCD: the contrast of its projections, and the clusters it ends with."""

import math

import numpy as np
import pytest
import torch
from safetensors.torch import load, save
from torch._subclasses.fake_tensor import FakeTensorMode

from legogcd.bricks.shared.cosines import pairwise_cosines
from legogcd.errors import UserError
from legogcd.methods.base import CONFIDENT
from legogcd.methods.baselines.dino_head import DINOHead
from legogcd.methods.baselines.gcd import GCD
from legogcd.methods.recipes.gcd import GCDRecipe

TINY = GCDRecipe(projector_hidden=12, bottleneck=5, projector_out=9)
LABELS = torch.tensor([0, 1, 1, -1, -1])


def tiny_gcd(seed: int = 0, recipe: GCDRecipe = TINY) -> GCD:
    torch.manual_seed(seed)
    method = GCD(6, 4, 2, recipe)
    with torch.no_grad():
        for layer in method.projector.mlp[::2]:
            layer.weight.mul_(20)  # from std 0.02, at which so narrow a projector hardly tells images apart
            layer.bias.normal_()
    return method


def pairs(seed: int = 1) -> torch.Tensor:
    return torch.randn(2, len(LABELS), 6, generator=torch.Generator().manual_seed(seed))


def groups(noise: float = 0.1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features [80, 6] of four groups, of lengths that differ; truth; labels for half of the first two groups."""
    random = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), 20)
    features = np.eye(6)[truth] + random.normal(0, noise, (80, 6))
    features *= random.uniform(0.5, 20, (80, 1))
    return features.astype(np.float32), truth, np.where((truth < 2) & (np.arange(80) % 2 == 0), truth, -1)


def array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().double().numpy()


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def slow_projections(head: DINOHead, features: torch.Tensor) -> np.ndarray:
    """[2B, out] from the parameters alone."""
    x = array(features).reshape(-1, features.shape[-1])
    linear = [(array(layer.weight), array(layer.bias)) for layer in head.mlp[::2]]
    for number, (weight, bias) in enumerate(linear):
        x = x @ weight.T + bias
        if number < 2:
            x = np.vectorize(lambda v: v * (1 + math.erf(v / math.sqrt(2))) / 2)(x)
    return unit(x) @ unit(array(head.last.weight)).T


def slow_terms(projections: np.ndarray, labels: list[int]) -> tuple[float, float]:
    u, labels = unit(projections), labels * 2
    views, images = range(len(u)), len(u) // 2
    info_nce, sup_con = [], []
    for i in views:
        others = [j for j in views if j != i]
        partner = (i + images) % len(u)
        info_nce.append(-math.log(math.exp(u[i] @ u[partner]) / sum(math.exp(u[i] @ u[j]) for j in others)))
        if labels[i] >= 0:
            labelled = [j for j in others if labels[j] >= 0]
            total = sum(math.exp(u[i] @ u[j] / 0.07) for j in labelled)
            alike = [j for j in labelled if labels[j] == labels[i]]
            sup_con.append(np.mean([-math.log(math.exp(u[i] @ u[j] / 0.07) / total) for j in alike]))
    return float(np.mean(info_nce)), float(np.mean(sup_con))


def test_the_loss_is_that_of_an_obvious_loop() -> None:
    method, features = tiny_gcd(), pairs()
    step = method.step(features, LABELS, 0, torch.arange(5))
    info_nce, sup_con = slow_terms(slow_projections(method.projector, features), LABELS.tolist())
    assert step.terms["info_nce"].item() == pytest.approx(info_nce, rel=1e-5)
    assert step.terms["sup_con"].item() == pytest.approx(sup_con, rel=1e-4)
    assert step.loss.item() == pytest.approx(0.65 * info_nce + 0.35 * sup_con, rel=1e-4)
    assert {name: int(count) for name, count in step.selected.items()} == {"info_nce": 10, "sup_con": 6}
    assert CONFIDENT not in step.selected  # nothing is classified while it trains


def test_the_short_way_to_the_cosines_is_exact_in_value_and_gradient() -> None:
    head = tiny_gcd().projector
    features = pairs().requires_grad_()
    mixing = torch.randn(10, 10)
    inputs = [features, *head.parameters()]
    short, plain = head.pairwise_cosines(features), pairwise_cosines(head(features))
    torch.testing.assert_close(short, plain)
    gradients = [torch.autograd.grad((cosines * mixing).sum(), inputs) for cosines in (short, plain)]
    for by_short, by_plain in zip(*gradients, strict=True):
        torch.testing.assert_close(by_short, by_plain, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("out", [1, 3, 40])
def test_the_short_way_holds_for_a_last_layer_of_any_width(out: int) -> None:
    head = DINOHead(6, hidden=12, bottleneck=5, out=out)
    torch.testing.assert_close(head.pairwise_cosines(pairs()), pairwise_cosines(head(pairs())), atol=1e-3, rtol=1e-3)


def test_an_output_is_the_cosine_to_a_row_whatever_its_length() -> None:
    head = tiny_gcd().projector
    np.testing.assert_allclose(array(head(pairs())).reshape(10, -1), slow_projections(head, pairs()), atol=1e-5)
    before = head(pairs())
    with torch.no_grad():
        head.last.weight.mul_(3)
    torch.testing.assert_close(head(pairs()), before)


def test_a_bottleneck_without_a_direction_stays_finite() -> None:
    method = tiny_gcd()
    with torch.no_grad():
        method.projector.mlp[-1].weight.zero_()
        method.projector.mlp[-1].bias.zero_()
    step = method.step(pairs(), LABELS, 0, torch.arange(5))
    step.loss.backward()
    assert torch.isfinite(step.loss)
    assert all(torch.isfinite(parameter.grad).all() for parameter in method.parameters())


def test_half_precision_steps_keep_their_cosines_exact() -> None:
    method = tiny_gcd()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cosines = method.projector.pairwise_cosines(pairs())
    assert cosines.dtype == torch.float32
    torch.testing.assert_close(cosines.diagonal(), torch.ones(10))


def test_finish_finds_the_groups_and_keeps_the_labelled_ones_in_their_class() -> None:
    features, truth, labels = groups()
    method = tiny_gcd()
    method.finish(features, labels, seed=0)
    predicted = method.logits(torch.from_numpy(features)).argmax(-1).numpy()
    assert (predicted[truth < 2] == truth[truth < 2]).all()
    assert sorted(set(predicted[truth == 2]) | set(predicted[truth == 3])) == [2, 3]
    assert len(set(predicted[truth == 2])) == len(set(predicted[truth == 3])) == 1


def test_labels_hold_a_class_together_that_lies_in_two_places() -> None:
    random = np.random.default_rng(0)
    group = np.repeat(np.arange(4), 20)
    features = np.eye(6)[group] + random.normal(0, 0.05, (80, 6))
    labels = np.where(np.arange(80) % 2 == 0, group % 2, -1)
    method = GCD(6, 2, 2, TINY)
    method.finish(features.astype(np.float32), labels, seed=0)
    points = unit(features)
    for known in range(2):
        assert (method.centers[known].numpy() @ points[labels == known].T > 0.2).all()  # between its two places


def test_a_prediction_is_the_nearest_center_to_the_direction() -> None:
    features, _, labels = groups(noise=0.6)
    method = tiny_gcd()
    method.finish(features, labels, seed=0)
    centers = method.centers.double().numpy()
    nearest = [int(np.argmin([np.sum((h - c) ** 2) for c in centers])) for h in unit(features.astype(np.float64))]
    logits = method.logits(torch.from_numpy(features))
    probabilities = method.probabilities(torch.from_numpy(features))
    assert logits.argmax(-1).tolist() == probabilities.argmax(-1).tolist() == nearest
    torch.testing.assert_close(probabilities.sum(-1), torch.ones(80))


def test_the_same_seed_gives_the_same_centers_and_starts_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    from legogcd.methods import kmeans_start

    asked = []
    original = kmeans_start.semi_supervised_kmeans

    def noting(*args, **kwargs):  # type: ignore[no-untyped-def]
        asked.append(kwargs["n_init"])
        return original(*args, **kwargs)

    monkeypatch.setattr(kmeans_start, "semi_supervised_kmeans", noting)
    features, _, labels = groups(noise=0.6)
    ours = TINY.with_settings({"n_init": None})
    first, second, few = (tiny_gcd(recipe=ours.with_settings(n)) for n in ({}, {}, {"n_init": 2}))
    for method in (first, second, few):
        method.finish(features, labels, seed=3)
    assert torch.equal(first.centers, second.centers)
    assert asked == [50, 50, 2]


def test_a_loaded_method_predicts_the_same() -> None:
    features, _, labels = groups()
    method, other = tiny_gcd(), tiny_gcd(seed=9)
    method.finish(features, labels, seed=0)
    other.load_state_dict(load(save(method.state_dict())))
    images = torch.from_numpy(features)
    assert torch.equal(other.probabilities(images), method.probabilities(images))


def test_it_cannot_predict_before_it_has_finished_and_says_so() -> None:
    assert not GCD.predicts_while_training


def test_no_step_waits_for_the_device() -> None:
    method = tiny_gcd()
    with FakeTensorMode(allow_non_fake_inputs=True):  # tensors without values: reading one raises
        step = method.step(torch.randn(2, 4, 6), torch.zeros(4, dtype=torch.long), 0, torch.arange(4))
        assert step.loss.shape == step.selected["sup_con"].shape == ()


def test_twenty_steps_lower_the_loss() -> None:
    method = tiny_gcd()
    truth = torch.arange(4).repeat(8)
    labels = torch.where((truth < 2) & (torch.arange(32) < 16), truth, -1)
    optimizer = torch.optim.SGD(method.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(20):
        step = method.step(torch.eye(6)[truth] * 3 + 0.2 * torch.randn(2, 32, 6), labels, 0, torch.arange(32))
        optimizer.zero_grad()
        step.loss.backward()
        optimizer.step()
        losses.append(step.loss.item())
    assert losses[-1] < losses[0] - 0.1


def test_the_published_recipe() -> None:
    recipe = GCDRecipe()
    assert (recipe.supervised_weight, recipe.info_nce_temperature, recipe.sup_con_temperature) == (0.35, 1.0, 0.07)
    assert (recipe.projector_hidden, recipe.bottleneck, recipe.projector_out) == (2048, 256, 65_536)
    assert (recipe.epochs, recipe.batch_size, recipe.learning_rate) == (200, 128, 0.1)
    with pytest.raises(UserError, match="setting start = 'kmeans'"):
        recipe.with_settings({"start": "kmeans"})
