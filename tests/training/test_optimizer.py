"""SGD groups and the cosine by epoch."""

import subprocess
import sys

import pytest
import torch
from torch import nn

from legogcd.methods import Recipe
from legogcd.training.optimizer import build_optimizer, rate_at, set_rate


def test_biases_and_flat_parameters_are_not_decayed_and_frozen_ones_are_left_out() -> None:
    tail, heads = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3)), nn.Linear(3, 2)
    tail[1].weight.requires_grad_(False)
    optimizer = build_optimizer(tail, heads, Recipe(weight_decay=0.01))
    decay = {id(p): group["weight_decay"] for group in optimizer.param_groups for p in group["params"]}
    assert {decay[id(tail[0].weight)], decay[id(heads.weight)]} == {0.01}
    assert {decay[id(tail[0].bias)], decay[id(tail[1].bias)], decay[id(heads.bias)]} == {0.0}
    assert id(tail[1].weight) not in decay


def test_the_schedule_is_pytorchs_cosine_annealing() -> None:
    recipe = Recipe(epochs=17, learning_rate=0.3)
    oracle = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(oracle, T_max=17, eta_min=0.3e-3)
    for epoch in range(17):
        assert rate_at(recipe, epoch) == pytest.approx(oracle.param_groups[0]["lr"], rel=1e-9)
        oracle.step()
        scheduler.step()


def test_the_tail_has_a_rate_of_its_own_and_zero_leaves_it_alone() -> None:
    tail, heads = nn.Linear(2, 2), nn.Linear(2, 2)
    optimizer = build_optimizer(tail, heads, Recipe(tail_rate=0.1))
    set_rate(optimizer, 0.5)
    rates = {id(p): group["lr"] for group in optimizer.param_groups for p in group["params"]}
    assert rates[id(tail.weight)] == pytest.approx(0.05)
    assert rates[id(heads.weight)] == pytest.approx(0.5)
    frozen = build_optimizer(tail, heads, Recipe(tail_rate=0))
    assert id(tail.weight) not in {id(p) for group in frozen.param_groups for p in group["params"]}


def test_steps_are_those_of_sgd_by_hand() -> None:
    """v ← 0.9·v + (g + decay·w), w ← w − rate·v, from the first step on."""
    heads, recipe = nn.Linear(3, 2, bias=False), Recipe(weight_decay=0.1, momentum=0.9)
    optimizer = build_optimizer(nn.Identity(), heads, recipe)
    set_rate(optimizer, 0.5)
    weight, velocity = heads.weight.detach().double(), torch.zeros(2, 3, dtype=torch.float64)
    for step in range(4):
        gradient = torch.full((2, 3), float(step) - 1)
        heads.weight.grad = gradient.clone()
        optimizer.step()
        velocity = 0.9 * velocity + gradient + 0.1 * weight
        weight = weight - 0.5 * velocity
        assert torch.allclose(heads.weight.double(), weight, atol=1e-6)


def test_it_steps_and_is_saved_as_pytorchs_own() -> None:
    torch.manual_seed(0)
    ours, theirs = nn.Linear(5, 4), nn.Linear(5, 4)
    theirs.load_state_dict(ours.state_dict())
    optimizer = build_optimizer(nn.Identity(), ours, Recipe(weight_decay=0.01))
    groups = [{"params": [theirs.weight], "weight_decay": 0.01}, {"params": [theirs.bias], "weight_decay": 0.0}]
    oracle = torch.optim.SGD(groups, lr=0.1, momentum=0.9, fused=True)
    for number in range(6):
        inputs = torch.randn(3, 5)
        for model, steps in ((ours, optimizer), (theirs, oracle)):
            steps.zero_grad()
            model(inputs).square().sum().backward()
            steps.step()
        assert torch.equal(ours.weight, theirs.weight)
        assert torch.equal(ours.bias, theirs.bias)
        if number == 2:
            saved = optimizer.state_dict()
            optimizer = build_optimizer(nn.Identity(), ours, Recipe(weight_decay=0.01))
            optimizer.load_state_dict(saved)
    found, expected = optimizer.state_dict()["state"], oracle.state_dict()["state"]
    assert all(torch.equal(found[key]["momentum_buffer"], expected[key]["momentum_buffer"]) for key in (0, 1))


def test_steps_do_not_wait_for_torchs_compiler() -> None:
    program = """if True:
        import sys
        from torch import nn
        from legogcd.methods import Recipe
        from legogcd.training.optimizer import build_optimizer
        heads = nn.Linear(2, 2)
        optimizer = build_optimizer(nn.Identity(), heads, Recipe())
        optimizer.zero_grad()
        heads.weight.sum().backward()
        optimizer.step()
        optimizer.load_state_dict(optimizer.state_dict())
        print("torch._dynamo" in sys.modules)
    """
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout == b"False\n"
