"""A method's name says what is in it, and every weight and temperature reaches its brick."""

import math

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from legogcd.errors import UserError
from legogcd.methods import METHODS, ParametricRecipe, build_method, choose_recipe

SIMGCD_FAMILY = [name for name, entry in METHODS.items() if issubclass(entry.recipe, ParametricRecipe)]
SIMGCD = {"info_nce", "sup_con", "supervised_ce", "self_distillation", "mean_entropy"}


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("simgcd", set()),
        ("simgcd+dkl", {"dkl"}),
        ("simgcd+ler", {"ler"}),
        ("simgcd+ler+map", {"ler"}),
        ("legogcd", {"ler", "dkl"}),
        ("legogcd-released", {"ler", "dkl"}),
    ],
)
def test_a_name_says_which_bricks_are_in_it(name: str, extra: set[str]) -> None:
    assert set(build_method(name, dim=4, n_classes=5, n_known=2).bricks) == SIMGCD | extra


@pytest.mark.parametrize(
    ("name", "margin", "form"),
    [
        ("simgcd+ler", None, None),
        ("simgcd+ler+map", "paper", None),
        ("legogcd", "paper", "paper"),
        ("legogcd-released", "released", "released"),
    ],
)
def test_paper_and_released_forms_are_told_apart(name: str, margin: str | None, form: str | None) -> None:
    bricks = build_method(name, dim=4, n_classes=5, n_known=2).bricks
    assert bricks["ler"].margin == margin
    assert ("dkl" in bricks) == (form is not None)
    if form is not None:
        assert bricks["dkl"].form == form


def test_single_forms_can_be_chosen_whatever_the_name_says() -> None:
    recipe = ParametricRecipe(dkl_form="released", margin_form="released", margin_temperature=0.3)
    bricks = build_method("legogcd", 4, 5, 2, recipe).bricks
    assert (bricks["dkl"].form, bricks["ler"].margin, bricks["ler"].mean_temperature) == ("released", "released", 0.3)


def test_a_recipe_of_another_method_is_refused() -> None:
    with pytest.raises(TypeError, match="kmeans takes a KMeansRecipe, not a ParametricRecipe"):
        build_method("kmeans", 4, 5, 2, ParametricRecipe())


def test_weights_are_those_of_the_paper() -> None:
    method = build_method("legogcd", dim=4, n_classes=5, n_known=2)
    expected = {
        "info_nce": 0.65,
        "sup_con": 0.35,
        "supervised_ce": 0.35,
        "self_distillation": 0.65,
        "mean_entropy": 1.3,
        "dkl": 0.65,
        "ler": 2.0,
    }
    assert method.weights() == pytest.approx(expected)


def test_every_setting_reaches_its_brick() -> None:
    recipe = ParametricRecipe(
        supervised_weight=0.5,
        mean_entropy_weight=3,
        dkl_weight=4,
        beta=5,
        threshold=0.9,
        student_temperature=0.2,
        teacher_temperature_start=0.3,
        teacher_temperature_end=0.1,
        teacher_warmup_epochs=7,
        teacher_warmup="cosine",
        info_nce_temperature=0.6,
        sup_con_temperature=0.8,
        ler_temperature=0.15,
        margin_strength=0.25,
        margin_momentum=0.5,
        projector_hidden=12,
        projector_out=3,
    )
    method = build_method("legogcd", 4, 5, 2, recipe)
    bricks = method.bricks
    assert method.weights() == pytest.approx(
        {
            "info_nce": 0.5,
            "sup_con": 0.5,
            "supervised_ce": 0.5,
            "self_distillation": 0.5,
            "mean_entropy": 1.5,
            "dkl": 2.0,
            "ler": 5.0,
        }
    )
    assert (bricks["info_nce"].temperature, bricks["sup_con"].temperature) == (0.6, 0.8)
    assert {bricks[name].temperature for name in ("supervised_ce", "mean_entropy", "dkl")} == {0.2}
    distillation, ler = bricks["self_distillation"], bricks["ler"]
    assert (distillation.student_temperature, distillation.teacher_temperatures) == (0.2, (0.3, 0.1))
    assert (distillation.warmup_epochs, distillation.warmup) == (7, "cosine")
    assert (ler.threshold, ler.temperature, ler.confidence_temperature) == (0.9, 0.15, 0.2)
    assert (ler.margin_strength, ler.momentum) == (0.25, 0.5)
    assert [tuple(layer.weight.shape) for layer in method.projector[::2]] == [(12, 4), (12, 12), (3, 12)]


@pytest.mark.parametrize(("epochs", "warmup"), [(200, 30), (30, 30), (29, 4), (12, 2), (1, 1)])
def test_short_runs_scale_the_teachers_warm_up(epochs: int, warmup: int) -> None:
    assert ParametricRecipe(epochs=epochs).warmup_epochs == warmup


def test_settings_given_as_text_are_read_and_bad_ones_explained() -> None:
    assert ParametricRecipe().with_settings({"epochs": "12", "start": "kmeans"}).epochs == 12
    with pytest.raises(UserError, match="unknown setting 'betta'"):
        ParametricRecipe().with_settings({"betta": 1})
    with pytest.raises(UserError, match=r"threshold = '1\.5': input should be less than or equal to 1"):
        ParametricRecipe().with_settings({"threshold": "1.5"})


def test_the_loss_is_that_of_an_obvious_loop() -> None:
    torch.manual_seed(0)
    recipe = ParametricRecipe(threshold=0.5, projector_hidden=16, projector_out=8)
    method = build_method("legogcd", 6, 5, 3, recipe).double()
    features, labels = torch.randn(2, 4, 6, dtype=torch.float64), [0, 0, -1, -1]
    step = method.step(features, torch.tensor(labels), 0, torch.arange(4))

    u = normalize(method.projector(features).flatten(0, 1).detach(), dim=-1)  # eight views, image i at i and i + 4
    z = (normalize(features, dim=-1) @ normalize(method.prototypes.weight, dim=-1).T).flatten(0, 1).detach()
    p, sharp = (z / 0.1).softmax(-1), (z / 0.07).softmax(-1)
    losses = dict.fromkeys(["contrast", "sup_contrast", "ce", "distillation", "ler"], 0.0)
    for i in range(8):
        other, image = (i + 4) % 8, i % 4
        similar = [(u[i] @ u[j]).exp() for j in range(8) if j != i]
        losses["contrast"] -= float(((u[i] @ u[other]).exp() / sum(similar)).log()) / 8
        losses["distillation"] -= float((sharp[other] * p[i].log()).sum()) / 8
        if labels[image] >= 0:
            others = sum((u[i] @ u[j] / 0.07).exp() for j in (0, 1, 4, 5) if j != i)
            alike = [j for j in (0, 1, 4, 5) if j != i]
            losses["sup_contrast"] -= float(sum((u[i] @ u[j] / 0.07) - others.log() for j in alike)) / 3 / 4
            losses["ce"] -= float(p[i][labels[image]].log()) / 4
        elif p[i].max() >= 0.5 and p[i].argmax() < 3:
            q = (z[i] / 0.05).softmax(-1)
            losses["ler"] -= float((q * q.log()).sum()) / 8  # the running mean is uniform: no margin yet
    mean_entropy = math.log(5) + float((p.mean(0) * p.mean(0).log()).sum())
    kl = float((p[:4] * (p[:4] / p[4:]).log()).sum(-1).mean())
    assert losses["ler"] > 0
    unsupervised = losses["contrast"] + losses["distillation"] + 2 * mean_entropy + kl
    expected = 0.65 * unsupervised + 0.35 * (losses["sup_contrast"] + losses["ce"]) + 2 * losses["ler"]
    assert step.loss.item() == pytest.approx(expected, rel=1e-9)
    assert int(step.selected["sup_con"]) == 4
    assert int(step.selected["info_nce"]) == 8


@pytest.mark.parametrize("name", SIMGCD_FAMILY)
def test_twenty_steps_lower_the_loss(name: str) -> None:
    torch.manual_seed(0)
    method = build_method(name, dim=8, n_classes=4, n_known=2)
    features = torch.randn(2, 16, 8)
    labels = torch.tensor([0, 1] * 4 + [-1] * 8)
    optimizer = torch.optim.SGD(method.parameters(), lr=0.05)
    losses = []
    for _ in range(20):
        step = method.step(features, labels, 0, torch.arange(16))
        optimizer.zero_grad()
        step.loss.backward()
        optimizer.step()
        losses.append(float(step.loss))
    assert losses[-1] < losses[0]


def test_confident_known_views_are_counted_also_without_ler() -> None:
    torch.manual_seed(0)
    method = build_method("simgcd", dim=4, n_classes=3, n_known=2)
    sure = torch.nn.functional.normalize(method.prototypes.weight.detach(), dim=-1)  # image k lies on prototype k
    step = method.step(sure.expand(2, 3, 4).clone(), torch.tensor([-1, 0, -1]), 0, torch.arange(3))
    expected = sum(
        float((method.prototypes(sure)[k] / 0.1).softmax(-1).max()) >= 0.7 for k in (0,)
    )  # image 1 is labelled, image 2 is New
    assert int(step.selected["confident_known"]) == 2 * expected == 2


def test_prototypes_start_as_the_paper_says() -> None:
    torch.manual_seed(0)
    weight = build_method("simgcd", dim=768, n_classes=50, n_known=2).prototypes.weight
    assert float(weight.abs().max()) <= 768**-0.5
    assert float(weight.norm(dim=-1).mean()) == pytest.approx(3**-0.5, rel=0.02)


def test_logits_are_cosines() -> None:
    method = build_method("simgcd", dim=4, n_classes=3, n_known=2)
    features = torch.randn(5, 4)
    expected = torch.nn.functional.cosine_similarity(features[:, None], method.prototypes.weight[None], dim=-1)
    torch.testing.assert_close(method.logits(features), expected)


def test_kmeans_start_puts_known_prototypes_on_labelled_means_and_new_ones_on_groups() -> None:
    random = np.random.default_rng(0)
    centers = np.eye(6)[:4] * 3
    truth = np.repeat(np.arange(4), 20)
    features = (centers[truth] + random.normal(0, 0.1, (80, 6))).astype(np.float32)
    labels = np.where((truth < 2) & (np.arange(80) % 2 == 0), truth, -1)
    method = build_method("simgcd", dim=6, n_classes=4, n_known=2)
    method.start(features, labels, seed=0)
    directions = features / np.linalg.norm(features, axis=1, keepdims=True)
    for known in range(2):
        mean = directions[labels == known].mean(axis=0)
        torch.testing.assert_close(
            torch.nn.functional.normalize(method.prototypes.weight[known].detach(), dim=0),
            torch.from_numpy(mean / np.linalg.norm(mean)).float(),
        )
    predicted = method.logits(torch.from_numpy(features)).argmax(-1).numpy()
    assert (predicted[truth < 2] == truth[truth < 2]).all()
    assert {len(set(predicted[truth == new])) for new in (2, 3)} == {1}
    assert predicted[truth == 2][0] != predicted[truth == 3][0]
    torch.testing.assert_close(method.prototypes.weight.norm(dim=-1), torch.full((4,), 3**-0.5))


def test_alpha_weighs_the_classification_loss_and_the_contrastive_form_reaches_both_bricks() -> None:
    plain = build_method("legogcd", 4, 5, 2).weights()
    method = build_method("legogcd", 4, 5, 2, ParametricRecipe(classification_weight=3.0, contrast_form="paper"))
    scale = dict.fromkeys(("supervised_ce", "self_distillation", "mean_entropy", "dkl"), 3)
    assert method.weights() == pytest.approx({name: weight * scale.get(name, 1) for name, weight in plain.items()})
    assert {method.bricks[name].form for name in ("info_nce", "sup_con")} == {"paper"}


@pytest.mark.parametrize("name", METHODS)
def test_a_vits_block_learns_slower_than_heads_that_start_from_groups_and_as_published_where_that_is_asked_for(
    name: str,
) -> None:
    ours = choose_recipe("default", name, "facebook/dinov2-small")
    if ours.epochs:
        assert ours.tail_rate == 0.1
        assert choose_recipe("default", name, "efficientnet-lite0").tail_rate == 1.0
        assert choose_recipe("paper", name, "facebook/dino-vitb16").tail_rate == 1.0


@pytest.mark.parametrize("backbone", ["efficientnet-lite0", "lite0+lite1"])
def test_more_than_the_last_block_of_a_cnn_learns_slower_than_the_heads_but_where_it_is_published_or_set(
    backbone: str,
) -> None:
    rates = [choose_recipe("default", "legogcd+", backbone, train_blocks=blocks).tail_rate for blocks in (1, 2, 3)]
    assert rates == [1.0, 0.3, 0.3]
    assert choose_recipe("paper", "legogcd", backbone, train_blocks=2).tail_rate == 1.0
    assert choose_recipe("default", "legogcd+", backbone, {"tail_rate": 0.5}, train_blocks=2).tail_rate == 0.5
    assert choose_recipe("default", "legogcd+", "facebook/dinov2-small", train_blocks=2).tail_rate == 0.1
