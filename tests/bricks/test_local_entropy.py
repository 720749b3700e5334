import copy
import io
import math
from dataclasses import replace

import pytest
import torch
from brick_samples import SHAPES, random_views, unlabelled, value_and_gradients
from torch import nn

from legogcd.bricks import LocalEntropy
from legogcd.errors import UserError

MARGINS = ["paper", "released", None]


def softmax(values):
    e = [math.exp(value) for value in values]
    return [value / sum(e) for value in e]


def slow_local_entropy(views, threshold, temperature, shift):
    total = 0.0
    for view in views.logits.tolist():
        for z, label in zip(view, views.labels.tolist(), strict=True):
            confidences = softmax([value / 0.1 for value in z])
            best = max(confidences)
            if label == -1 and best >= threshold and confidences.index(best) < views.n_known:
                target = softmax([value / temperature for value in z])
                other = softmax([value / temperature + delta for value, delta in zip(z, shift, strict=True)])
                total -= sum(a * math.log(b) for a, b in zip(target, other, strict=True))
    return total / views.logits[..., 0].numel()


def slow_mean(views, temperature):
    rows = [softmax([value / temperature for value in z]) for view in views.logits.tolist() for z in view]
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def uneven(classes):
    weights = torch.arange(1, classes + 1, dtype=torch.float64) ** 2
    return weights / weights.sum()


@pytest.mark.parametrize("margin", MARGINS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_matches_a_double_loop(shape, margin, seed):
    views = random_views(seed, *shape)
    brick = LocalEntropy(0.4, margin=margin).eval()
    mean = uneven(views.logits.shape[-1])
    if margin is not None:
        brick.mean_prediction = mean
    sign = {"paper": -0.4, "released": 0.4, None: 0.0}[margin]
    expected = slow_local_entropy(views, 0.4, 0.05, [sign * math.log(p) for p in mean.tolist()])
    assert brick(views).item() == pytest.approx(expected, abs=1e-11)


def test_all_views_count_in_the_mean():
    views = unlabelled(random_views(0, images=2, classes=3, n_known=3))
    more = replace(views, logits=views.logits.repeat(1, 2, 1), labels=torch.tensor([-1, -1, 0, 0]))
    brick = LocalEntropy(0.0, margin=None)
    assert brick(more).item() == pytest.approx(brick(views).item() / 2, abs=1e-14)


@pytest.mark.parametrize("margin", MARGINS)
def test_gradient(margin):
    views = random_views(7, images=4)
    confidences = (views.logits / 0.1).softmax(-1).amax(-1)
    assert ((confidences - 0.5).abs() > 1e-3).all()  # the selection jumps at the threshold
    brick = LocalEntropy(0.5, margin=margin).eval()
    if margin is not None:
        brick.mean_prediction = uneven(5)

    def term(logits):
        return brick(replace(views, logits=logits))

    assert torch.autograd.gradcheck(term, views.logits.requires_grad_())
    assert brick.selected.any()


def test_selected_are_the_sure_views_of_known_classes_without_a_label():
    sure_old, sure_new, unsure = [0.9, 0.0, 0.0], [0.0, 0.0, 0.9], [0.1, 0.0, 0.0]
    logits = torch.tensor([[sure_old, sure_new, unsure, sure_old], [sure_old, sure_old, sure_old, sure_old]])
    brick = LocalEntropy(0.6)
    brick(replace(random_views(0, 4), logits=logits, labels=torch.tensor([-1, -1, -1, 0]), n_known=2))
    assert brick.selected.tolist() == [[True, False, False, False], [True, True, True, False]]


@pytest.mark.parametrize("margin", MARGINS)
def test_unselected_views_get_no_gradient(margin):
    views = random_views(1, images=30)
    brick = LocalEntropy(0.6, margin=margin)
    _, _, gradient = value_and_gradients(brick, views)
    assert (gradient[~brick.selected] == 0).all()
    assert (gradient[brick.selected] != 0).any(dim=-1).all()


def test_it_lowers_the_entropy_of_what_it_selected():
    views = unlabelled(random_views(2, images=20))
    brick = LocalEntropy(0.5, margin=None)
    logits = views.logits.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(brick(replace(views, logits=logits)), logits)
    before, after = (
        torch.distributions.Categorical(logits=z / 0.05).entropy()[brick.selected]
        for z in (views.logits, views.logits - 0.01 * gradient)
    )
    assert (after < before).all()


def test_without_a_margin_all_gradient_comes_through_the_target():
    views = unlabelled(random_views(2))
    logits = views.logits.clone().requires_grad_()
    scaled = logits / 0.05
    detached = -(scaled.softmax(-1).detach() * scaled.log_softmax(-1)).sum(-1).mean()
    (through_detached,) = torch.autograd.grad(detached, logits)
    assert through_detached.abs().max() < 1e-12
    _, _, gradient = value_and_gradients(LocalEntropy(0.0, margin=None), replace(views, n_known=5))
    assert gradient.abs().max() > 1e-3


@pytest.mark.parametrize("share", [0.01, 0.98])
def test_the_two_margins_have_opposite_signs(share):
    logits = torch.tensor([[[0.30, 0.05, 0.1]]] * 2, dtype=torch.float64)  # confident in class 0
    views = replace(unlabelled(random_views(0, images=1, classes=3)), logits=logits)
    terms = {}
    for margin in ("paper", "released"):
        brick = LocalEntropy(0.5, margin=margin).eval()
        brick.mean_prediction = torch.tensor([share, (1 - share) / 2, (1 - share) / 2], dtype=torch.float64)
        terms[margin] = brick(views).item()
    if share < 1 / 3:
        assert terms["paper"] < terms["released"]  # the paper's margin favors a rare class
    else:
        assert terms["paper"] > terms["released"]  # the released one a frequent class


@pytest.mark.parametrize("margin", ["paper", "released"])
def test_a_uniform_start_is_no_margin_yet(margin):
    views = random_views(3)
    brick = LocalEntropy(0.4, margin=margin)
    assert brick.mean_prediction is None
    without = LocalEntropy(0.4, margin=None)(views).item()
    assert brick(views).item() == pytest.approx(without, abs=1e-13)


@pytest.mark.parametrize(("margin", "temperature"), [("paper", 0.1), ("released", 1.0)])
def test_the_running_mean_after_two_batches(margin, temperature):
    first, second = random_views(1), random_views(2)
    first.logits.requires_grad_()
    brick = LocalEntropy(margin=margin, momentum=0.9)
    brick(first)
    assert not brick.mean_prediction.requires_grad
    means = [0.9 * 0.2 + 0.1 * p for p in slow_mean(first, temperature)]
    assert brick.mean_prediction.tolist() == pytest.approx(means, abs=1e-14)
    brick(second)
    means = [0.9 * old + 0.1 * p for old, p in zip(means, slow_mean(second, temperature), strict=True)]
    assert brick.mean_prediction.tolist() == pytest.approx(means, abs=1e-14)


def test_each_step_uses_the_mean_from_before_it():
    first, second = random_views(1), random_views(2)
    brick = LocalEntropy(0.4, momentum=0.5)
    brick(first)
    shift = [-0.4 * math.log(p) for p in brick.mean_prediction.tolist()]
    assert brick(second).item() == pytest.approx(slow_local_entropy(second, 0.4, 0.05, shift), abs=1e-12)


def test_evaluation_leaves_the_mean_alone():
    brick = LocalEntropy().eval()
    brick(random_views(1))
    assert brick.mean_prediction.tolist() == [0.2] * 5
    brick.train()(random_views(1))
    trained = brick.mean_prediction.clone()
    brick.eval()(random_views(2))
    assert brick.mean_prediction.equal(trained)
    assert not trained.equal(torch.full_like(trained, 0.2))


def test_training_can_follow_inference_mode():
    brick = LocalEntropy().eval()
    with torch.inference_mode():
        brick(random_views(1))
    value, _, gradient = value_and_gradients(brick.train(), random_views(2))
    assert torch.isfinite(value)
    assert torch.isfinite(gradient).all()
    brick.load_state_dict(brick.state_dict())


def save_and_load(state):
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


@pytest.mark.parametrize("margin", ["paper", "released"])
@pytest.mark.parametrize("n_classes", [None, 5])
def test_a_restored_brick_goes_on_like_the_one_saved(margin, n_classes):
    steps = [random_views(seed) for seed in range(6)]
    running = nn.ModuleDict({"ler": LocalEntropy(0.4, margin=margin, momentum=0.5)})
    for step in steps[:3]:
        running["ler"](step)
    state = save_and_load(running.state_dict())
    assert list(state) == ["ler.mean_prediction"]
    restored = nn.ModuleDict({"ler": LocalEntropy(0.4, margin=margin, momentum=0.5, n_classes=n_classes)})
    if n_classes:
        restored = restored.double()  # room of the same precision, as a model on its way to the device has
    restored.load_state_dict(state)
    for step in steps[3:]:
        assert restored["ler"](step).item() == running["ler"](step).item()
    assert restored["ler"].mean_prediction.equal(running["ler"].mean_prediction)


def test_loading_replaces_a_mean_already_begun():
    saved, used = LocalEntropy(), LocalEntropy()
    saved(random_views(1))
    used(random_views(2))
    used.load_state_dict(saved.state_dict())
    assert used.mean_prediction.equal(saved.mean_prediction)


def test_a_brick_that_has_seen_nothing_saves_and_loads_too():
    fresh = LocalEntropy()
    fresh.load_state_dict(save_and_load(LocalEntropy().state_dict()))
    assert fresh.mean_prediction is None
    assert LocalEntropy(n_classes=4).state_dict()["mean_prediction"].tolist() == [0.25] * 4


def test_a_held_state_is_not_changed_by_later_steps():
    brick = LocalEntropy()
    brick(random_views(1))
    state = brick.state_dict()
    before = state["mean_prediction"].clone()
    brick(random_views(2))
    assert state["mean_prediction"].equal(before)


def test_without_a_margin_nothing_is_kept():
    brick = LocalEntropy(margin=None, n_classes=5)
    brick(random_views(1))
    assert brick.mean_prediction is None
    assert brick.state_dict() == {}


def test_a_copy_keeps_its_own_mean():
    brick = LocalEntropy()
    brick(random_views(1))
    twin = copy.deepcopy(brick)
    twin(random_views(2))
    assert not twin.mean_prediction.equal(brick.mean_prediction)


def test_the_mean_is_kept_in_float32_beside_half_precision_logits():
    views = random_views(1)
    brick = LocalEntropy(n_classes=5).to(torch.bfloat16)
    brick(replace(views, logits=views.logits.to(torch.bfloat16)))
    assert brick.mean_prediction.dtype == torch.float32
    assert not (brick.mean_prediction == brick.mean_prediction[0]).all()  # 1/1000 of a step would be lost in bfloat16


@pytest.mark.parametrize("margin", ["paper", "released"])
def test_a_mean_stored_coarsely_is_not_computed_with_coarsely(margin):
    coarse, fine = LocalEntropy(0.4, margin=margin).eval(), LocalEntropy(0.4, margin=margin).eval()
    coarse.mean_prediction = uneven(5).to(torch.bfloat16)
    fine.mean_prediction = coarse.mean_prediction.double()
    assert coarse(random_views(3)) == fine(random_views(3))


def test_another_number_of_classes_is_refused():
    brick = LocalEntropy(n_classes=4)
    with pytest.raises(UserError, match="over 4 classes, the logits have 5"):
        brick(random_views(0))
