import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from brick_samples import comparable_views, unlabelled

from legogcd.bricks.neighbor_pairs import NeighborPairs
from legogcd.bricks.shared.pairs import same_class_partner
from legogcd.errors import UserError


def softmax(z, temperature):
    e = np.exp(z / temperature)
    return e / e.sum()


def nearest(features, i):
    cosines = [a @ features[i] / np.linalg.norm(a) / np.linalg.norm(features[i]) for a in features]
    return max((j for j in range(len(features)) if j != i), key=lambda j: cosines[j], default=i)


def slow_neighbor_pairs(views, temperature):
    first, second = views.logits.numpy()
    features = views.features[0].numpy()
    drawn = same_class_partner(views.labels, views.index, views.epoch).tolist()
    losses = []
    for i, label in enumerate(views.labels.tolist()):
        j = drawn[i] if label >= 0 else nearest(features, i)
        losses.append(-math.log(softmax(first[i], temperature) @ softmax(second[j], temperature)))
    return sum(losses) / len(losses)


@pytest.mark.parametrize("images", [1, 2, 6, 9])
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("epoch", [0, 7])
def test_matches_a_double_loop(images, seed, epoch):
    views = comparable_views(seed, images, epoch=epoch)
    assert NeighborPairs()(views).item() == pytest.approx(slow_neighbor_pairs(views, 0.1), abs=1e-12)


def test_unlabelled_images_neighbor_labelled_ones_too():
    views = comparable_views(0, images=2)
    near = replace(views, labels=torch.tensor([0, -1]))
    p, other = (views.logits / 0.1).softmax(-1)
    expected = -(torch.log(p[0] @ other[0]) + torch.log(p[1] @ other[0])) / 2  # image 0 is alone in its class
    assert NeighborPairs()(near).item() == pytest.approx(expected.item(), abs=1e-12)


def test_certain_and_different_views_still_pull_on_each_other():
    logits = torch.zeros(2, 1, 3)
    logits[0, 0, 0] = logits[1, 0, 1] = 200.0  # at temperature 1 the inner product is below float32's least number
    views = replace(unlabelled(comparable_views(0, images=1)), logits=logits.requires_grad_())
    value = NeighborPairs(temperature=1.0)(views)
    value.backward()
    assert value.item() == pytest.approx(200 - math.log(2), rel=1e-5)
    assert logits.grad[0, 0, 0] > 0.4
    assert logits.grad[1, 0, 0] < -0.4


def test_another_epoch_draws_other_partners():
    views = replace(comparable_views(3, images=8), labels=torch.zeros(8, dtype=torch.long))
    values = [NeighborPairs()(replace(views, epoch=epoch)).item() for epoch in (0, 0, 1, 2)]
    assert values[0] == values[1]
    assert len(set(values)) == 3


def test_every_view_takes_part():
    brick = NeighborPairs()
    brick(comparable_views(0, images=3))
    assert brick.selected.tolist() == [[True] * 3] * 2


def test_gradient():
    views = replace(comparable_views(5, images=4), labels=torch.tensor([0, 0, -1, -1]))

    def term(logits):
        return NeighborPairs()(replace(views, logits=logits))

    assert torch.autograd.gradcheck(term, views.logits.requires_grad_())


def test_wrong_temperatures_are_refused():
    with pytest.raises(UserError, match="temperature is 0; give a number above 0"):
        NeighborPairs(temperature=0)
