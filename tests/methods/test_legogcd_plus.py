"""legogcd+: what it exchanges in LegoGCD, how it starts, and that nobody else has its settings."""

import numpy as np
import pytest
import torch
from test_known_share import mixture
from test_whitening import sample

from legogcd.clustering import directions
from legogcd.errors import UserError
from legogcd.evaluation import clustering_accuracy
from legogcd.methods import ParametricRecipe, build_method, choose_recipe, default_recipe
from legogcd.methods.kmeans_start import kmeans_centers
from legogcd.methods.legogcd_plus import LegoGCDPlus
from legogcd.methods.legogcd_plus.whitening import Whitening
from legogcd.methods.recipes.legogcd_plus import LegoGCDPlusRecipe

WEIGHTS = {  # of the published terms, with CUB's β and ε
    "info_nce": 0.65,
    "sup_con": 0.35,
    "supervised_ce": 0.35,
    "self_distillation": 0.65,
    "mean_entropy": 0.65 * 2,
    "dkl": 0.65,
    "ler": 2.0,
}
SMALL = {"start": "kmeans", "projector_hidden": 8, "projector_out": 4}


def test_it_is_legogcd_with_two_bricks_exchanged_behind_a_whitening() -> None:
    recipe = default_recipe("legogcd+", "efficientnet")
    assert isinstance(recipe, LegoGCDPlusRecipe)
    assert recipe.whitened_dim is None
    ours = build_method("legogcd+", dim=300, n_classes=90, n_known=4, recipe=recipe)
    theirs = build_method("legogcd", dim=300, n_classes=90, n_known=4)
    kinds = [{name: type(brick).__name__ for name, brick in method.bricks.items()} for method in (ours, theirs)]
    changed = {"mean_entropy": "PriorAlignment", "self_distillation": "ConsensusDistillation"}
    assert kinds[0] == kinds[1] | changed
    assert ours.prototypes.weight.shape == (90, 270)  # three times the number of classes
    assert build_method("legogcd+", 100, 9, 4, recipe).prototypes.weight.shape == (9, 64)
    assert build_method("legogcd+", 20, 9, 4, recipe).prototypes.weight.shape == (9, 20)  # no more than there are
    assert theirs.prototypes.weight.shape == (90, 300)
    random = recipe.with_settings({"start": "random"})  # nothing to find a whitening with
    assert build_method("legogcd+", 300, 90, 4, random).prototypes.weight.shape == (90, 300)


def test_its_settings_reach_their_bricks_and_are_its_own() -> None:
    settings = {"uniform_share": 0.3, "student_temperature": 0.2, "mean_entropy_weight": 3.0}
    recipe = choose_recipe("paper", "legogcd+", "efficientnet-lite0", settings)
    method = build_method("legogcd+", 6, 5, 3, recipe)
    assert isinstance(method, LegoGCDPlus)
    assert (method.prior.uniform_share, method.prior.temperature) == (0.3, 0.2)
    assert method.bricks["self_distillation"].student_temperature == 0.2
    assert method.weights()["mean_entropy"] == pytest.approx(0.65 * 3)
    for setting in ("uniform_share", "whitened_dim", "whitened_per_class", "settled_per_class", "settle_on"):
        with pytest.raises(UserError, match=f"unknown setting '{setting}'"):
            choose_recipe("paper", "legogcd", "efficientnet-lite0", {setting: 0})


def test_it_starts_trains_and_is_restored_behind_its_whitening() -> None:
    features, labels, _ = sample(5)
    recipe = LegoGCDPlusRecipe(whitened_dim=5, **SMALL)
    method = build_method("legogcd+", dim=12, n_classes=6, n_known=3, recipe=recipe)
    assert method.prototypes.weight.shape == (6, 5)
    method.start(features, labels, seed=0)

    views = torch.from_numpy(features[:16]).repeat(2, 1, 1).requires_grad_()
    step = method.step(views, torch.from_numpy(labels[:16]), epoch=0, index=torch.arange(16))
    step.loss.backward()
    assert (views.grad != 0).any(dim=-1).all()
    assert not any("whitening" in name for name, _ in method.named_parameters())  # fixed from the start on

    other = build_method("legogcd+", dim=12, n_classes=6, n_known=3, recipe=recipe)
    other.load_state_dict(method.state_dict(), strict=False)
    x = torch.from_numpy(features)
    assert torch.equal(other.logits(x), method.logits(x))


@pytest.mark.parametrize(("share", "held", "labelled", "even"), [(0.9, 0.896, 40, 0.1), (0.3, 0.2, 120, 1.0)])
def test_its_prior_expects_a_little_less_than_the_labels_say(
    share: float, held: float, labelled: int, even: float
) -> None:
    points, labels = mixture(1, share, labelled, unlabelled=3600 if share > 0.5 else 1800, spread=0.3)
    recipe = LegoGCDPlusRecipe(whitened_dim=12, **SMALL)
    method = build_method("legogcd+", dim=16, n_classes=10, n_known=5, recipe=recipe)
    assert isinstance(method, LegoGCDPlus)
    method.start((points + 2).astype(np.float32), labels, seed=0)
    assert method.prior.expectation.mean.tolist() == pytest.approx([held, even], abs=0.05)


def test_its_prototypes_start_where_kmeans_with_the_known_share_finds_classes() -> None:
    points, labels = mixture(1, share=0.9, labelled=40, unlabelled=900, spread=1.0)
    features = (points + 2).astype(np.float32)
    method = build_method("legogcd+", 16, 10, 5, LegoGCDPlusRecipe(whitened_dim=12, **SMALL))
    assert isinstance(method, LegoGCDPlus)
    method.start(features, labels, seed=0)
    whitening = Whitening(16, 12)
    whitening.fit(features, labels)
    share = float(method.prior.expectation.mean[0])
    assert share > 0.5
    start = torch.nn.functional.normalize(method.prototypes.weight.detach(), dim=-1)
    told, untold = (
        torch.nn.functional.normalize(
            kmeans_centers(directions(whitening.of(features)), labels, 10, 5, 0, known_share, exchange=True), dim=-1
        )
        for known_share in (share, 0.0)
    )
    torch.testing.assert_close(start, told)
    assert not torch.allclose(start, untold, atol=1e-3)


def mean_entropy(logits: np.ndarray, temperature: float) -> float:
    """log K − H(p̄) of logits [2, B, K], in plain numpy."""
    scaled = logits.astype(np.float64).reshape(-1, logits.shape[-1]) / temperature
    p = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    mean = (p / p.sum(axis=1, keepdims=True)).mean(axis=0)
    return float(np.log(len(mean)) + (mean * np.log(mean)).sum())


@pytest.mark.parametrize("sizes", ["prior", "equal", "free"])
def test_what_it_expects_of_the_sizes_of_classes(sizes: str) -> None:
    points, labels = mixture(1, share=0.9, labelled=40, unlabelled=900, spread=1.0)  # which the labels tell
    features = (points + 2).astype(np.float32)
    recipe = LegoGCDPlusRecipe(whitened_dim=12, sizes=sizes, uniform_share=0.3, **SMALL)
    method = build_method("legogcd+", 16, 10, 5, recipe)
    method.start(features, labels, seed=0)
    whitening = Whitening(16, 12)
    whitening.fit(features, labels)
    points = directions(whitening.of(features))
    untold = torch.nn.functional.normalize(kmeans_centers(points, labels, 10, 5, 0, exchange=True))
    start = torch.nn.functional.normalize(method.prototypes.weight.detach())
    assert torch.allclose(start, untold, atol=1e-4) == (sizes != "prior")

    views = torch.from_numpy(features[-64:]).reshape(2, 32, -1)
    plain = mean_entropy(method.logits(views).detach().numpy(), recipe.student_temperature)
    for epoch in (0, 1):  # what was seen before changes nothing
        step = method.step(views, torch.from_numpy(labels[-32:]), epoch, torch.arange(32))
        if sizes == "equal":
            assert step.terms["mean_entropy"].item() == pytest.approx(plain, rel=1e-4)
        elif sizes == "free":
            assert "mean_entropy" not in step.terms
        else:
            assert step.terms["mean_entropy"].item() != pytest.approx(plain, rel=0.05)
    method.finish(features, labels, seed=0)
    assert method.prototypes.weight.isfinite().all()


def test_labels_weigh_more_from_epoch_to_epoch() -> None:
    features, labels, _ = sample(5)
    method = build_method("legogcd+", 12, 6, 3, LegoGCDPlusRecipe(epochs=5, supervised_rise=0.2, **SMALL))
    views, index = torch.from_numpy(features[:16]).repeat(2, 1, 1), torch.arange(16)
    for epoch, factor in enumerate((0.8, 0.9, 1.0, 1.1, 1.2)):
        step = method.step(views, torch.from_numpy(labels[:16]), epoch, index)
        expected = {name: weight * (factor if name == "supervised_ce" else 1) for name, weight in WEIGHTS.items()}
        total = sum(weight * step.terms[name].item() for name, weight in expected.items())
        assert step.loss.item() == pytest.approx(total, rel=1e-5)
    assert expected.keys() == step.terms.keys()


def test_without_a_whitening_it_starts_as_legogcd_does() -> None:
    features, labels, _ = sample(5)
    plain = build_method("legogcd", 12, 6, 3, ParametricRecipe(**SMALL))
    ours = build_method("legogcd+", 12, 6, 3, LegoGCDPlusRecipe(whitened_dim=0, **SMALL))
    assert isinstance(ours, LegoGCDPlus)
    for method in (plain, ours):
        method.start(features, labels, seed=0)
    assert ours.prototypes.weight.equal(plain.prototypes.weight)
    assert ours.prior.expectation.mean is None


@pytest.mark.parametrize("settle_on", ["inertia", "agreement"])
def test_it_settles_where_classes_are_among_trained_features(settle_on) -> None:
    trained, labels, classes = sample(5, nuisance=0.2)  # training has told pose from kind
    recipe = LegoGCDPlusRecipe(whitened_dim=5, settle=True, settle_on=settle_on, **SMALL)
    method = build_method("legogcd+", dim=12, n_classes=6, n_known=3, recipe=recipe)
    assert method.settles(1_000_000)
    method.start(sample(5, nuisance=0.5)[0], labels, seed=0)
    method.finish(trained, labels, seed=0)
    predicted = method.logits(torch.from_numpy(trained)).argmax(1).numpy()
    assert clustering_accuracy(classes, predicted, n_known=3).all == 1
    assert not build_method("legogcd+", 12, 6, 3, recipe.with_settings({"start": "random"})).settles(1)
    assert not build_method("legogcd+", 12, 6, 3, recipe.with_settings({"whitened_dim": 0})).settles(1)


@pytest.mark.parametrize(("settle", "few", "many"), [(None, True, False), (True, True, True), (False, False, False)])
def test_it_settles_by_itself_where_there_are_more_classes_than_images_of_one(settle, few, many) -> None:
    method = build_method("legogcd+", 12, 6, 3, LegoGCDPlusRecipe(whitened_dim=5, settle=settle, **SMALL))
    assert (method.settles(35), method.settles(36)) == (few, many)


def test_images_that_training_made_alike_leave_the_prototypes_where_they_are() -> None:
    features, labels, _ = sample(5)
    method = build_method("legogcd+", 12, 6, 3, LegoGCDPlusRecipe(whitened_dim=5, settle=True, **SMALL))
    method.start(features, labels, seed=0)
    before = {name: tensor.clone() for name, tensor in method.state_dict().items()}
    method.finish(np.ones_like(features), labels, seed=0)
    assert all(torch.equal(tensor, before[name]) for name, tensor in method.state_dict().items())


def test_more_dimensions_where_prototypes_settle_and_none_of_them_elsewhere() -> None:
    """With 30 classes 90 dimensions or 180: among 300 images, ten of a class, and among 900, where they are large."""
    random = np.random.default_rng(0)
    for n_images, used in ((300, 6), (900, 3)):
        classes = np.arange(n_images) % 30
        features = (random.normal(size=(30, 200))[classes] + random.normal(size=(n_images, 200))).astype(np.float32)
        labels = np.where((classes < 15) & (np.arange(n_images) < n_images // 2), classes, -1)
        wider, plain = (
            build_method("legogcd+", 200, 30, 15, LegoGCDPlusRecipe(**SMALL, **per_class))
            for per_class in ({"settled_per_class": 6}, {"whitened_per_class": used})
        )
        wider.start(features, labels, seed=0)
        plain.start(features, labels, seed=0)
        one, other = (method.logits(torch.from_numpy(features)) for method in (wider, plain))
        assert wider.prototypes.weight.shape == (30, 180)
        assert plain.prototypes.weight.shape == (30, 30 * used)
        assert torch.allclose(one, other, atol=1e-5)
        assert not wider.whitening.map[:, 30 * used :].any()
        assert wider.settles(n_images) == (used == 6)
