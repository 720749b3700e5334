"""Twenty gradient steps lower every term."""

from dataclasses import replace

import pytest
import torch
from brick_samples import BRICKS, random_views

RATES = {"InfoNCE": 1.0, "SupCon": 0.1}


@pytest.mark.parametrize("name", BRICKS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_twenty_steps_lower_it(name, seed):
    views = random_views(seed, images=8)
    views = replace(views, labels=torch.tensor([0, 1, 2, 0, -1, -1, -1, -1]))
    parameters = [views.projections.requires_grad_(), views.logits.requires_grad_()]
    optimizer = torch.optim.SGD(parameters, lr=RATES.get(name, 0.02))
    brick = BRICKS[name]().eval()  # eval: the running mean is the same before and after
    first = brick(views).item()
    selected = brick.selected
    for _ in range(20):
        optimizer.zero_grad()
        brick(views).backward()
        optimizer.step()
    last = brick(views).item()
    assert last < first - 1e-3 * abs(first)
    assert (brick.selected & selected).equal(selected)  # it was not lowered by dropping views
