import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from brick_samples import SHAPES, random_views

from legogcd.bricks import SupCon


def slow_sup_con(projections, labels, temperature):
    u = [[p / np.linalg.norm(p) for p in view] for view in projections]
    labelled = [(v, i) for v in range(2) for i in range(len(labels)) if labels[i] >= 0]
    losses = []
    for v, i in labelled:
        others = [(w, j) for w, j in labelled if (w, j) != (v, i)]
        total = sum(math.exp(u[v][i] @ u[w][j] / temperature) for w, j in others)
        of_positives = [
            -math.log(math.exp(u[v][i] @ u[w][j] / temperature) / total) for w, j in others if labels[j] == labels[i]
        ]
        losses.append(sum(of_positives) / len(of_positives))
    return sum(losses) / len(losses) if losses else 0.0


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_matches_a_double_loop(shape, seed):
    views = random_views(seed, *shape)
    expected = slow_sup_con(views.projections.numpy(), views.labels.tolist(), 0.07)
    assert SupCon(0.07)(views).item() == pytest.approx(expected, abs=1e-11)


def test_two_classes_apart_have_a_closed_form():
    projections = torch.tensor([[[2.0, 0.0], [0.0, 5.0]]] * 2, dtype=torch.float64)
    views = replace(random_views(0, 2), projections=projections, labels=torch.tensor([1, 0]))
    assert SupCon(0.5)(views).item() == pytest.approx(math.log(1 + 2 * math.exp(-2)), abs=1e-12)


def test_one_class_everywhere_alike_leaves_the_log_of_the_others():
    views = replace(random_views(0, 3), projections=torch.ones(2, 3, 4), labels=torch.tensor([2, 2, 2]))
    assert SupCon()(views).item() == pytest.approx(math.log(5), abs=1e-6)


def test_gradient():
    views = replace(random_views(5, images=4), labels=torch.tensor([0, 1, -1, 0]))

    def term(projections):
        return SupCon(0.5)(replace(views, projections=projections))

    assert torch.autograd.gradcheck(term, views.projections.requires_grad_())


def test_unlabelled_images_neither_matter_nor_move():
    views = replace(random_views(5, images=4), labels=torch.tensor([0, 1, -1, 0]))
    elsewhere = views.projections.clone()
    elsewhere[:, 2] = 7.0
    projections = views.projections.requires_grad_()
    value = SupCon()(views)
    assert SupCon()(replace(views, projections=elsewhere)).item() == value.item()
    (gradient,) = torch.autograd.grad(value, projections)
    assert (gradient[:, 2] == 0).all()
    assert (gradient[:, [0, 1, 3]] != 0).any(dim=-1).all()


def test_labelled_views_take_part():
    brick = SupCon()
    brick(replace(random_views(0, images=3), labels=torch.tensor([-1, 0, 2])))
    assert brick.selected.tolist() == [[False, True, True]] * 2


def test_as_printed_first_views_meet_second_views_of_other_labelled_images():
    views = replace(random_views(5, images=5), labels=torch.tensor([0, 1, -1, 0, 0]))
    u, v = (torch.nn.functional.normalize(p, dim=-1).numpy() for p in views.projections)
    losses = []
    for i in (0, 1, 3, 4):
        others = [n for n in (0, 1, 3, 4) if n != i]
        total = sum(math.exp(u[i] @ v[n] / 0.07) for n in others)
        alike = [-math.log(math.exp(u[i] @ v[n] / 0.07) / total) for n in others if views.labels[n] == views.labels[i]]
        losses.append(sum(alike) / len(alike) if alike else 0.0)
    assert SupCon(form="paper")(views).item() == pytest.approx(sum(losses) / 4, abs=1e-11)
    assert torch.autograd.gradcheck(
        lambda p: SupCon(0.5, form="paper")(replace(views, projections=p)), views.projections.requires_grad_()
    )
