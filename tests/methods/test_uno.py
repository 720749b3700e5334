"""UNO+: the loss of its heads, which of them predicts, and what a saved one remembers."""

import math

import numpy as np
import pytest
import torch
from safetensors.torch import load, save
from torch._subclasses.fake_tensor import FakeTensorMode

from legogcd.errors import UserError
from legogcd.methods.base import CONFIDENT
from legogcd.methods.baselines.uno import UNO
from legogcd.methods.recipes.uno import UNORecipe
from legogcd.training.optimizer import rate_at

TINY = UNORecipe(  # our forms; the published ones are in test_published_systems.py
    heads=3, head_hidden=8, head_out=5, over_clustering=2, batch_norm="both", renormalized=False
)
LABELS = torch.tensor([0, 1, 2, -1, -1, -1, -1])


def tiny_uno(n_classes: int = 5, n_known: int = 3, seed: int = 0) -> UNO:
    torch.manual_seed(seed)
    return UNO(6, n_classes, n_known, TINY)


def pairs(seed: int = 1) -> torch.Tensor:
    return torch.randn(2, len(LABELS), 6, generator=torch.Generator().manual_seed(seed))


def step(method: UNO, features: torch.Tensor, labels: torch.Tensor = LABELS):  # type: ignore[no-untyped-def]
    return method.step(features, labels, 0, torch.arange(len(labels)))


def restart(method: UNO) -> None:
    method.before_epoch(0, lambda: iter(()), LABELS)


def array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().double().numpy()


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def slow_logits(method: UNO, head: torch.nn.Sequential, features: torch.Tensor) -> np.ndarray:
    """[2, B, K] from the parameters alone: batch norm over all 2B views, biased variance."""
    h = array(features).reshape(-1, 6)
    first, norm, _, last, prototypes = head
    a = h @ array(first.weight).T + array(first.bias)
    a = (a - a.mean(axis=0)) / np.sqrt(a.var(axis=0) + norm.eps) * array(norm.weight) + array(norm.bias)
    g = np.maximum(a, 0) @ array(last.weight).T + array(last.bias)
    known = unit(h) @ unit(array(method.known.weight)).T
    return np.concatenate([known, unit(g) @ unit(array(prototypes.weight)).T], axis=1).reshape(2, len(LABELS), -1)


def slow_loss(logits: np.ndarray, labels: list[int]) -> float:
    """Swapped prediction, image by image."""
    free = [i for i, label in enumerate(labels) if label < 0]
    losses = []
    for student, teacher in ((0, 1), (1, 0)):
        q = np.exp(logits[teacher][free] / 0.05)
        for _ in range(3):
            q = q / q.sum(axis=0, keepdims=True)
            q = q / q.sum(axis=1, keepdims=True)
        for i, label in enumerate(labels):
            log_p = logits[student][i] / 0.1 - math.log(np.exp(logits[student][i] / 0.1).sum())
            losses.append(-log_p[label] if label >= 0 else -float(q[free.index(i)] @ log_p))
    return float(np.mean(losses))


def test_the_loss_is_that_of_an_obvious_loop_over_the_heads() -> None:
    method, features = tiny_uno(), pairs()
    outcome = step(method, features)
    heads = [slow_loss(slow_logits(method, head, features), LABELS.tolist()) for head in method.heads]
    over_heads = [slow_loss(slow_logits(method, head, features), LABELS.tolist()) for head in method.over_heads]
    assert len(heads) == len(over_heads) == 3
    assert outcome.terms["swapped_prediction"].item() == pytest.approx(np.mean(heads), rel=1e-4)
    assert outcome.terms["over_clustering"].item() == pytest.approx(np.mean(over_heads), rel=1e-4)
    assert outcome.loss.item() == pytest.approx((np.mean(heads) + np.mean(over_heads)) / 2, rel=1e-4)
    assert method.head_losses.tolist() == pytest.approx(heads, rel=1e-4)


def test_known_prototypes_are_shared_and_over_clustering_multiplies_the_new_ones() -> None:
    method = tiny_uno()
    assert method.known.weight.shape == (3, 6)
    assert [head[-1].weight.shape for head in method.heads] == [(2, 5)] * 3
    assert [head[-1].weight.shape for head in method.over_heads] == [(4, 5)] * 3


def test_every_parameter_learns() -> None:
    method = tiny_uno()
    step(method, pairs()).loss.backward()
    for name, parameter in method.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0 or name.endswith("0.bias"), name  # batch norm cancels the bias before it


def test_the_head_with_the_lowest_mean_loss_of_the_epoch_predicts() -> None:
    method = tiny_uno()
    step(method, pairs(1))
    once = method.head_losses.clone()
    step(method, pairs(2))
    both = method.head_losses.clone()
    restart(method)
    step(method, pairs(2))  # the weights have not moved
    torch.testing.assert_close(both, (once + method.head_losses) / 2)
    for best in range(3):
        method.head_losses.fill_(1.0)[best] = 0.5
        features = torch.randn(4, 6)
        method.eval()
        expected = torch.cat([method.known(features), method.heads[best](features)], dim=-1)
        assert int(method.best_head) == best
        torch.testing.assert_close(method.logits(features), expected)


def test_an_epoch_forgets_the_losses_of_the_one_before() -> None:
    method = tiny_uno()
    step(method, pairs(1))
    restart(method)
    assert method.head_losses.tolist() == [0, 0, 0]
    step(method, pairs(2))
    fresh = tiny_uno()
    step(fresh, pairs(2))
    torch.testing.assert_close(method.head_losses, fresh.head_losses)


def test_the_first_head_predicts_before_any_training() -> None:
    method = tiny_uno().eval()
    features = torch.randn(4, 6)
    assert int(method.best_head) == 0
    torch.testing.assert_close(method.logits(features)[:, 3:], method.heads[0](features))


def test_logits_are_cosines_known_classes_first_and_probabilities_their_softmax() -> None:
    method = tiny_uno().eval()
    features = torch.randn(4, 6)
    logits = method.logits(features)
    assert logits.shape == (4, 5)
    assert logits.abs().max() <= 1 + 1e-6
    np.testing.assert_allclose(
        array(logits)[:, :3], unit(array(features)) @ unit(array(method.known.weight)).T, atol=1e-6
    )
    torch.testing.assert_close(method.probabilities(features), torch.softmax(logits / 0.1, dim=-1))


@pytest.mark.parametrize("training", [True, False])
def test_one_image_is_predicted_as_among_others_and_leaves_no_trace(training: bool) -> None:
    method = tiny_uno()
    step(method, pairs())
    method.train(training)
    before = {name: tensor.clone() for name, tensor in method.state_dict().items()}
    features = torch.randn(4, 6)
    alone = torch.cat([method.logits(image[None]) for image in features])
    torch.testing.assert_close(alone, method.logits(features))
    assert all(torch.equal(tensor, before[name]) for name, tensor in method.state_dict().items())
    assert method.heads[0].training == training


@pytest.mark.parametrize("labels", [[-1], [1], [-1, -1, -1], [0, 1, 2]])
def test_small_and_one_sided_batches_train(labels: list[int]) -> None:
    method = tiny_uno()
    outcome = step(method, torch.randn(2, len(labels), 6), torch.tensor(labels))
    outcome.loss.backward()
    assert torch.isfinite(outcome.loss)
    assert all(torch.isfinite(p.grad).all() for p in method.parameters() if p.grad is not None)


@pytest.mark.parametrize("n_known", [0, 3])
def test_without_new_or_without_known_classes(n_known: int) -> None:
    method = tiny_uno(n_classes=3, n_known=n_known)
    optimizer = torch.optim.SGD(method.parameters(), lr=0.1, momentum=0.9)
    labels = LABELS if n_known else torch.full_like(LABELS, -1)
    for _ in range(2):
        outcome = step(method, pairs(), labels)
        optimizer.zero_grad()
        outcome.loss.backward()
        optimizer.step()
    assert torch.isfinite(outcome.loss)
    other = tiny_uno(n_classes=3, n_known=n_known, seed=9)
    other.load_state_dict(load(save(method.state_dict())))
    features = torch.randn(4, 6)
    assert method.logits(features).shape == (4, 3)
    assert torch.equal(other.logits(features), method.logits(features))


def test_a_loaded_method_predicts_the_same() -> None:
    method, other, features = tiny_uno(), tiny_uno(seed=9), torch.randn(4, 6)
    step(method, pairs())
    method.head_losses[2] = 0.0
    other.load_state_dict(load(save(method.state_dict())))
    assert int(other.best_head) == 2
    assert torch.equal(other.probabilities(features), method.probabilities(features))


def test_confident_known_views_are_counted_by_the_best_head() -> None:
    method = tiny_uno()
    known = torch.nn.functional.normalize(method.known.weight.detach(), dim=-1)
    features = torch.stack([known[0], known[1], -known.sum(dim=0)]).expand(2, 3, 6) + 0.01 * torch.randn(2, 3, 6)
    labels = torch.tensor([0, -1, -1])
    outcome = step(method, features, labels)
    with torch.no_grad():
        new = method.heads[int(method.best_head)](features.flatten(0, 1))
        p = torch.softmax(torch.cat([method.known(features.flatten(0, 1)), new], dim=-1) / 0.1, dim=-1)
    expected = sum(labels[i % 3] < 0 and float(row.max()) >= 0.7 and int(row.argmax()) < 3 for i, row in enumerate(p))
    assert int(outcome.selected[CONFIDENT]) == expected
    assert int(outcome.selected["swapped_prediction"]) == int(outcome.selected["over_clustering"]) == 6


def test_no_step_waits_for_the_device() -> None:
    with FakeTensorMode():  # tensors without values: reading one raises
        method = UNO(6, 5, 3, TINY)
        restart(method)
        for _ in range(2):
            outcome = step(method, torch.randn(2, 4, 6), torch.zeros(4, dtype=torch.long))
            outcome.loss.backward()
        assert outcome.selected[CONFIDENT].shape == ()


def test_twenty_steps_lower_the_loss_and_sort_separable_features() -> None:
    torch.manual_seed(0)
    truth = torch.arange(4).repeat(16)
    labels = torch.where((truth < 2) & (torch.arange(64) < 32), truth, -1)
    method = UNO(8, 4, 2, UNORecipe(heads=2, head_hidden=16, head_out=8))
    optimizer = torch.optim.SGD(method.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(20):
        outcome = step(method, torch.eye(8)[truth] * 3 + 0.2 * torch.randn(2, 64, 8), labels)
        optimizer.zero_grad()
        outcome.loss.backward()
        optimizer.step()
        losses.append(outcome.loss.item())
    assert losses[-1] < 0.8 * losses[0]
    predicted = method.eval().logits(torch.eye(8)[:4] * 3).argmax(-1).tolist()
    assert predicted[:2] == [0, 1]
    assert sorted(predicted[2:]) == [2, 3]


def test_the_published_recipe() -> None:
    recipe = UNORecipe()
    assert (recipe.batch_size, recipe.weight_decay, recipe.epochs) == (256, 1e-4, 200)
    assert (recipe.heads, recipe.over_clustering, recipe.head_hidden, recipe.head_out) == (5, 3, 2048, 256)
    assert (recipe.temperature, recipe.sinkhorn_epsilon, recipe.sinkhorn_iterations) == (0.1, 0.05, 3)
    rates = [rate_at(recipe, epoch) for epoch in range(200)]
    assert rates[:10] == pytest.approx([0.001 + 0.011 * epoch for epoch in range(10)])
    assert rates[10] == pytest.approx(0.1)
    assert rates[199] == pytest.approx(0.001, rel=0.01)


def test_settings_reach_the_brick_and_a_start_it_does_not_have_is_refused() -> None:
    brick = UNO(4, 3, 2, UNORecipe(temperature=0.2, sinkhorn_epsilon=0.3, sinkhorn_iterations=7)).brick
    assert (brick.temperature, brick.epsilon, brick.iterations) == (0.2, 0.3, 7)
    with pytest.raises(UserError, match="setting start = 'kmeans'"):
        UNORecipe().with_settings({"start": "kmeans"})
