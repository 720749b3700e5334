import math
from dataclasses import replace

import pytest
import torch
from brick_samples import SHAPES, random_views

from legogcd.bricks import DualViewKL

FORMS = ["paper", "symmetric", "released"]


def softmax(values):
    e = [math.exp(value) for value in values]
    return [value / sum(e) for value in e]


def slow_kl(logits, temperature, form):
    if form == "symmetric":
        return (slow_kl(logits, temperature, "paper") + slow_kl(logits.flip(0), temperature, "paper")) / 2
    losses = []
    for first, second in zip(*logits.tolist(), strict=True):
        p, q = (softmax([z / temperature for z in view]) for view in (first, second))
        log_p, log_q = ([math.log(a) for a in (softmax(d) if form == "released" else d)] for d in (p, q))
        losses.append(sum(a * (b - c) for a, b, c in zip(p, log_p, log_q, strict=True)))
    return sum(losses) / len(losses)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", SHAPES)
def test_matches_a_double_loop(shape, form):
    views = random_views(4, *shape)
    assert DualViewKL(form)(views).item() == pytest.approx(slow_kl(views.logits, 0.1, form), abs=1e-11)


@pytest.mark.parametrize("form", FORMS)
def test_identical_views_cost_nothing(form):
    views = random_views(1)
    assert DualViewKL(form)(replace(views, logits=views.logits[:1].repeat(2, 1, 1))).item() == 0


def test_paper_form_is_the_true_divergence_and_never_negative():
    for seed in range(20):
        views = random_views(seed)
        p, q = (torch.distributions.Categorical(logits=view / 0.1) for view in views.logits)
        expected = torch.distributions.kl_divergence(p, q).mean().item()
        assert DualViewKL()(views).item() == pytest.approx(expected, abs=1e-11)
        assert expected >= 0


def test_released_form_can_be_negative():
    logits = torch.tensor([[[0.25, 0.15, 0.15]], [[0.5, 0.15, 0.15]]], dtype=torch.float64)  # view 2 is the surer
    views = replace(random_views(0, images=1, classes=3), logits=logits)
    assert DualViewKL("released")(views).item() < 0 < DualViewKL("paper")(views).item()


def test_paper_form_holds_the_first_view_to_the_second():
    views = random_views(2, images=3)
    second = views.logits[1]

    def term(first):
        return DualViewKL("paper")(replace(views, logits=torch.stack([first, second])))

    assert torch.autograd.gradcheck(term, views.logits[0].clone().requires_grad_())
    logits = views.logits.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(DualViewKL("paper")(replace(views, logits=logits)), logits)
    assert (gradient[1] == 0).all()
    assert (gradient[0] != 0).any()


@pytest.mark.parametrize("form", FORMS)
def test_nothing_detached_moves_both_views(form):
    views = random_views(2, images=3)

    def term(logits):
        return DualViewKL(form, detach=False)(replace(views, logits=logits))

    logits = views.logits.requires_grad_()
    assert torch.autograd.gradcheck(term, logits)
    (gradient,) = torch.autograd.grad(term(logits), logits)
    assert (gradient != 0).any(dim=-1).all()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("detach", [False, True])
def test_detaching_changes_the_gradient_and_not_the_value(form, detach):
    views = random_views(3, images=3)
    assert DualViewKL(form, detach=detach)(views) == DualViewKL(form)(views)

    logits = views.logits.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(DualViewKL(form, detach=detach)(replace(views, logits=logits)), logits)
    (default,) = torch.autograd.grad(DualViewKL(form)(replace(views, logits=logits)), logits)
    assert torch.equal(gradient, default) == (detach == (form != "released"))


def test_symmetric_form_does_not_care_which_view_comes_first():
    views = random_views(5)
    turned = replace(views, logits=views.logits.flip(0))
    assert DualViewKL("symmetric")(views).item() == pytest.approx(DualViewKL("symmetric")(turned).item(), abs=1e-12)
    assert DualViewKL("paper")(views).item() != pytest.approx(DualViewKL("paper")(turned).item(), abs=1e-6)


def test_every_view_takes_part():
    brick = DualViewKL()
    brick(random_views(0, images=3))
    assert brick.selected.tolist() == [[True] * 3] * 2
