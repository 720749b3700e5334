import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from brick_samples import SHAPES, random_views

from legogcd.bricks import InfoNCE, TwoViews


def slow_info_nce(projections, temperature):
    views, images, _ = projections.shape
    u = [[p / np.linalg.norm(p) for p in view] for view in projections]
    everyone = [(v, i) for v in range(views) for i in range(images)]
    losses = []
    for v, i in everyone:
        against = [math.exp(u[v][i] @ u[w][j] / temperature) for w, j in everyone if (w, j) != (v, i)]
        losses.append(-math.log(math.exp(u[v][i] @ u[1 - v][i] / temperature) / sum(against)))
    return sum(losses) / len(losses)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("temperature", [1.0, 0.3])
def test_matches_a_double_loop(shape, temperature):
    views = random_views(3, *shape)
    expected = slow_info_nce(views.projections.numpy(), temperature)
    assert InfoNCE(temperature)(views).item() == pytest.approx(expected, abs=1e-12)


def test_orthogonal_images_have_a_closed_form():
    views = replace(random_views(0, 4), projections=3 * torch.eye(4, dtype=torch.float64).repeat(2, 1, 1))
    assert InfoNCE(0.5)(views).item() == pytest.approx(math.log(1 + 6 * math.exp(-1 / 0.5)), abs=1e-12)


def test_one_image_has_nothing_to_repel():
    assert InfoNCE()(random_views(1, images=1)).item() == 0


def test_gradient():
    views = random_views(5, images=3)

    def term(projections):
        return InfoNCE(0.5)(replace(views, projections=projections))

    assert torch.autograd.gradcheck(term, views.projections.requires_grad_())


def test_every_view_takes_part():
    brick = InfoNCE()
    brick(random_views(0, images=3))
    assert brick.selected.tolist() == [[True] * 3] * 2


def test_default_temperature_is_one():
    views = random_views(0)
    assert InfoNCE()(views) == InfoNCE(temperature=1.0)(views)


def test_does_not_read_logits_or_labels():
    views = random_views(2)
    bare = TwoViews(views.projections, torch.empty(2, 6, 0), torch.full((6,), -1), n_known=0, epoch=0)
    assert InfoNCE()(bare) == InfoNCE()(views)


@pytest.mark.parametrize("images", [2, 5])
def test_as_printed_only_second_views_of_other_images_repel(images):
    views = random_views(3, images=images)
    u, v = (torch.nn.functional.normalize(p, dim=-1).numpy() for p in views.projections)
    losses = [
        -math.log(math.exp(u[i] @ v[i] / 0.5) / sum(math.exp(u[i] @ v[n] / 0.5) for n in range(images) if n != i))
        for i in range(images)
    ]
    assert InfoNCE(0.5, form="paper")(views).item() == pytest.approx(sum(losses) / images, abs=1e-12)
    assert InfoNCE(0.5)(views).item() != pytest.approx(sum(losses) / images)


def test_as_printed_gradient():
    views = random_views(5, images=3)
    term = InfoNCE(0.5, form="paper")
    assert torch.autograd.gradcheck(lambda p: term(replace(views, projections=p)), views.projections.requires_grad_())
