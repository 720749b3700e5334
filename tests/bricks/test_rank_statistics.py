import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from brick_samples import certain_of, comparable_views, unlabelled

from legogcd.bricks.rank_statistics import RankStatistics
from legogcd.errors import UserError


def softmax(z, temperature):
    e = np.exp(z / temperature)
    return e / e.sum()


def slow_rank_statistics(views, top, temperature):
    first, second = views.logits.numpy()
    features = views.features[0].numpy()
    losses = []
    for i in range(len(views.labels)):
        for j in range(len(views.labels)):
            if views.labels[i] < 0 and views.labels[j] < 0:
                together = float(softmax(first[i], temperature) @ softmax(second[j], temperature))
                same = set(np.argsort(-features[i])[:top]) == set(np.argsort(-features[j])[:top])
                losses.append(-math.log(together if same else 1 - together))
    return sum(losses) / len(losses) if losses else 0.0


@pytest.mark.parametrize("images", [1, 2, 6, 9])
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("top", [2, 5])
def test_matches_a_double_loop(images, seed, top):
    views = comparable_views(seed, images)
    expected = slow_rank_statistics(views, top, 0.5)
    assert RankStatistics(top, temperature=0.5)(views).item() == pytest.approx(expected, abs=1e-12)


def test_images_that_rank_alike_are_drawn_together_and_others_apart():
    features = torch.eye(4, dtype=torch.float64)[[0, 0, 1]].repeat(2, 1, 1)
    views = replace(unlabelled(comparable_views(0, images=3)), features=features)
    views.logits.requires_grad_()
    optimizer = torch.optim.SGD([views.logits], lr=2.0)
    brick = RankStatistics(top=1)
    for _ in range(300):
        optimizer.zero_grad()
        brick(views).backward()
        optimizer.step()
    first, second = views.logits.detach().argmax(-1).tolist()
    assert first == second
    assert first[0] == first[1] != first[2]


def test_only_unlabelled_images_take_part():
    views = replace(comparable_views(4, images=5), labels=torch.tensor([-1, 0, -1, 2, -1]))
    rest = [0, 2, 4]
    alone = replace(
        views, logits=views.logits[:, rest], features=views.features[:, rest], labels=views.labels[rest], index=None
    )
    brick = RankStatistics(top=3)
    assert brick(views).item() == pytest.approx(brick(alone).item(), abs=1e-14)
    brick(views)
    assert brick.selected.tolist() == [[True, False, True, False, True]] * 2


def test_a_batch_of_labelled_images_costs_nothing_and_moves_nothing():
    views = replace(comparable_views(0, images=3), labels=torch.tensor([0, 1, 0]))
    views.logits.requires_grad_()
    value = RankStatistics()(views)
    value.backward()
    assert value == 0
    assert (views.logits.grad == 0).all()


def test_a_certain_mistake_costs_a_bounded_price():
    views = unlabelled(comparable_views(0, images=2))
    features = torch.eye(2, 8, dtype=torch.float64).repeat(2, 1, 1)  # two images to be told apart
    apart = replace(views, features=features, logits=certain_of(0, 0, images=2))
    assert RankStatistics(top=1)(apart).item() == pytest.approx(-math.log(1e-7) / 2)  # two of four pairs are wrong


def test_gradient():
    views = replace(comparable_views(5, images=4), labels=torch.tensor([-1, 1, -1, -1]))

    def term(logits):
        return RankStatistics(top=2)(replace(views, logits=logits))

    assert torch.autograd.gradcheck(term, views.logits.requires_grad_())


@pytest.mark.parametrize("arguments", [{"top": 0}, {"top": 2.5}, {"temperature": 0}])
def test_wrong_arguments_are_refused(arguments):
    with pytest.raises(UserError, match=next(iter(arguments))):
        RankStatistics(**arguments)
