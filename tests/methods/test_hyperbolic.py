"""The hyperbolic head is what Möbius addition says, pair by pair; and it fits where the cosines were."""

import numpy as np
import pytest
import torch
from test_whitening import sample
from torch.nn.functional import cosine_similarity, normalize

from legogcd.errors import UserError
from legogcd.evaluation import clustering_accuracy
from legogcd.evaluation.strangers import Nearness
from legogcd.methods import ParametricRecipe, build_method, choose_recipe, method_entry
from legogcd.methods.heads import Prototypes
from legogcd.methods.hyperbolic import HyperbolicPrototypes

SMALL = {"projector_hidden": 8, "projector_out": 4}
LABELS = torch.tensor([0, 1, 2, 0, -1, -1, -1, -1])


def in_the_ball(x: np.ndarray, c: float) -> np.ndarray:
    length = np.sqrt(c) * np.linalg.norm(x)
    return np.tanh(length) * x / length


def mobius_sum(a: np.ndarray, b: np.ndarray, c: float) -> np.ndarray:
    ab, aa, bb = a @ b, a @ a, b @ b
    return ((1 + 2 * c * ab + c * bb) * a + (1 - c * aa) * b) / (1 + 2 * c * ab + c**2 * aa * bb)


def distance(a: np.ndarray, b: np.ndarray, c: float) -> float:
    apart = np.linalg.norm(mobius_sum(-in_the_ball(a, c), in_the_ball(b, c), c))
    return float(2 / np.sqrt(c) * np.arctanh(np.sqrt(c) * apart))


def expected_logits(features: np.ndarray, weight: np.ndarray, c: float, r: float) -> np.ndarray:
    found = np.empty((len(features), len(weight)))
    for i, x in enumerate(features):
        for k, w in enumerate(weight):
            p = r * w / np.linalg.norm(w)
            farthest = distance(p, -p, c)
            found[i, k] = 1 - 2 * distance(p, x * min(1, r / np.linalg.norm(x)), c) / farthest
    return found


@pytest.mark.parametrize(("c", "r"), [(0.05, 2.3), (0.01, 1.0), (1.0, 1.5), (1.0, 4.0), (1e-6, 2.3)])
def test_logits_are_those_of_mobius_addition_pair_by_pair(c: float, r: float) -> None:
    torch.manual_seed(0)
    prototypes = HyperbolicPrototypes(5, 4, c, r).double()
    lengths = torch.tensor([0.01, 0.3, 0.9, 1.0, 1.1, 20.0], dtype=torch.float64) * r  # some within r, some beyond
    features = normalize(torch.randn(6, 5, dtype=torch.float64), dim=-1) * lengths[:, None]
    expected = expected_logits(features.numpy(), prototypes.weight.detach().numpy(), c, r)
    np.testing.assert_allclose(prototypes(features).detach().numpy(), expected, rtol=1e-7, atol=1e-7)


def test_gradients_are_those_of_finite_differences() -> None:
    torch.manual_seed(0)
    prototypes = HyperbolicPrototypes(4, 3).double()
    features = torch.randn(2, 3, 4, dtype=torch.float64) * torch.tensor([0.2, 5.0], dtype=torch.float64)[:, None, None]

    def logits(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(prototypes, {"weight": weight}, (x,))

    given = (features.requires_grad_(), prototypes.weight.detach().clone().requires_grad_())
    assert torch.autograd.gradcheck(logits, given)


def test_without_curvature_the_distance_is_euclidean() -> None:
    torch.manual_seed(0)
    prototypes = HyperbolicPrototypes(5, 4, curvature=1e-10, clip_length=2.0).double()
    features = torch.randn(7, 5, dtype=torch.float64)
    clipped = features * (2 / features.norm(dim=-1, keepdim=True)).clamp_max(1)
    straight = torch.cdist(clipped, 2 * normalize(prototypes.weight, dim=-1))
    torch.testing.assert_close(prototypes(features), 1 - straight / 2, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("length", [0.01, 0.5, 1.0, 3.0, 1e4])
def test_logits_reach_as_far_as_a_feature_is_long_and_rank_as_cosines_do(length: float) -> None:
    torch.manual_seed(0)
    prototypes = HyperbolicPrototypes(6, 4, clip_length=2.0)
    units = normalize(torch.randn(50, 6), dim=-1)
    directions = torch.cat([units, normalize(prototypes.weight.detach(), dim=-1)])
    logits = prototypes(length * directions).detach()
    reach = min(1.0, length / 2.0)
    assert logits.abs().max() <= reach + 1e-6
    torch.testing.assert_close(logits[50:].diagonal(), torch.full((4,), reach), rtol=0, atol=2e-3)
    torch.testing.assert_close(
        prototypes(-length * directions)[50:].diagonal(), torch.full((4,), -reach), rtol=0, atol=2e-3
    )
    cosines = cosine_similarity(units[:, None], prototypes.weight.detach()[None], dim=-1)
    assert logits[:50].argsort(-1).equal(cosines.argsort(-1))


@pytest.mark.parametrize(("c", "r"), [(0.05, 2.3), (1.0, 10.0), (1e-12, 1e-3)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_extreme_features_have_finite_logits_and_gradients(c: float, r: float, dtype: torch.dtype) -> None:
    prototypes = HyperbolicPrototypes(3, 2, c, r).to(dtype)
    prototypes.start_at(torch.tensor([[1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]]))
    p = normalize(torch.tensor([1.0, 2.0, 3.0], dtype=dtype), dim=0)  # prototype 0; 1 is opposite
    lengths = torch.tensor([0.0, 1e-30, 1e-8, r * (1 - 1e-7), r, 2 * r, 1e15], dtype=dtype)
    features = (lengths[:, None] * p).requires_grad_()
    logits = prototypes(features)
    assert logits.isfinite().all()
    assert logits.abs().max() <= 1 + 1e-6
    (logits**2).sum().backward()
    assert features.grad is not None
    assert prototypes.weight.grad is not None
    assert features.grad.isfinite().all()
    assert prototypes.weight.grad.isfinite().all()


@pytest.mark.parametrize("name", ["simgcd", "legogcd", "legogcd+"])
def test_the_recipe_chooses_the_head(name: str) -> None:
    settings = {"head": "hyperbolic", "curvature": "0.1", "clip_length": "1.5", "start": "random", **SMALL}
    method = build_method(name, 6, 5, 3, method_entry(name).recipe().with_settings(settings))
    assert isinstance(method.prototypes, HyperbolicPrototypes)
    assert (method.prototypes.root, method.prototypes.clip_length) == (pytest.approx(0.1**0.5), 1.5)
    assert not method.logits_are_cosines

    step = method.step(torch.randn(2, 8, 6), LABELS, epoch=0, index=torch.arange(8))
    step.loss.backward()
    assert step.loss.isfinite()
    gradients = [parameter.grad for parameter in method.parameters()]
    assert all(gradient is not None and gradient.isfinite().all() for gradient in gradients)
    assert method.prototypes.weight.grad.abs().max() > 0


@pytest.mark.parametrize("name", ["simgcd", "legogcd", "legogcd+"])
def test_nothing_changes_where_the_head_is_not_asked_for(name: str) -> None:
    recipe = method_entry(name).recipe()
    assert recipe.head == "cosine"
    built = []
    for given in (recipe, recipe.with_settings({"head": "hyperbolic"})):
        torch.manual_seed(0)
        built.append(build_method(name, 6, 5, 3, given))
    plain, other = built
    assert type(plain.prototypes) is Prototypes
    assert plain.logits_are_cosines
    assert plain.state_dict().keys() == other.state_dict().keys()
    for key, tensor in plain.state_dict().items():  # the same draws in the same order
        assert tensor.equal(other.state_dict()[key])


def test_it_starts_settles_and_sorts_where_classes_are() -> None:
    features, labels, classes = sample(5, nuisance=0.2)
    settings = {"head": "hyperbolic", "start": "kmeans", "whitened_dim": 5, "settle": True, **SMALL}
    method = build_method("legogcd+", 12, 6, 3, choose_recipe("paper", "legogcd+", "efficientnet-lite0", settings))
    for decide in (method.start, method.finish):
        decide(features, labels, seed=0)
        logits = method.logits(torch.from_numpy(features)).detach()
        assert clustering_accuracy(classes, logits.argmax(1).numpy(), n_known=3).all == 1
        assert logits.abs().max() <= 1 + 1e-6
    assert (Nearness.of(logits.numpy(), labels).distances() >= -1e-6).all()


@pytest.mark.parametrize(("setting", "value"), [("head", "flat"), ("curvature", 0), ("clip_length", 0)])
def test_other_values_are_refused(setting: str, value: object) -> None:
    with pytest.raises(UserError, match=f"setting {setting} = "):
        ParametricRecipe().with_settings({setting: value})
