"""SGD as the papers set it: which parameters decay, a rate by epoch, one for the tail and one for the heads."""

import inspect
import math
from typing import Any

import torch
from torch import nn

from legogcd.methods import Recipe


class PlainSGD(torch.optim.SGD):
    """`torch.optim.SGD` without what its methods are wrapped in: that would load torch's compiler, in seconds.

    The wrapping matters to code that is compiled, and no training here is.
    """

    add_param_group = inspect.unwrap(torch.optim.SGD.add_param_group)
    zero_grad = inspect.unwrap(torch.optim.SGD.zero_grad)
    state_dict = inspect.unwrap(torch.optim.SGD.state_dict)
    load_state_dict = inspect.unwrap(torch.optim.SGD.load_state_dict)
    step = torch.no_grad()(inspect.unwrap(torch.optim.SGD.step))


def build_optimizer(tail: nn.Module, method: nn.Module, recipe: Recipe) -> torch.optim.SGD:
    """Up to four groups: tail and heads, each with and without weight decay.

    Biases and 1-D parameters are not decayed, unless the recipe decays all.
    """
    groups: list[dict[str, Any]] = []
    decay_of_flat = recipe.weight_decay if recipe.decayed == "all" else 0.0
    for module, scale in ((tail, recipe.tail_rate), (method, 1.0)):
        parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        for decay, flat in ((recipe.weight_decay, False), (decay_of_flat, True)):
            chosen = [parameter for parameter in parameters if (parameter.ndim <= 1) == flat]
            if chosen and scale > 0:
                groups.append({"params": chosen, "weight_decay": decay, "scale": scale})
    return PlainSGD(groups, lr=recipe.learning_rate, momentum=recipe.momentum, fused=True)


def rate_at(recipe: Recipe, epoch: int) -> float:
    """The learning rate of an epoch: up linearly over the warm-up, then down by half a cosine or in steps.

    The cosine goes from the full rate towards ``final_rate`` of it; a step divides by ten.

    >>> [round(rate_at(Recipe(epochs=200), epoch), 3) for epoch in (0, 100, 199)]
    [0.1, 0.05, 0.0]
    >>> stepped = Recipe(epochs=10, schedule="steps", rate_steps=(0.7, 0.9), rate_warmup=0.2)
    >>> [round(rate_at(stepped, epoch), 4) for epoch in range(10)]
    [0.05, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.001]
    """
    warmup = round(recipe.rate_warmup * recipe.epochs)
    if epoch < warmup and recipe.rate_warmup_from is not None:
        risen = epoch / max(1, warmup - 1)
        return recipe.learning_rate * (recipe.rate_warmup_from + (1 - recipe.rate_warmup_from) * risen)
    if epoch < warmup:
        return recipe.learning_rate * (epoch + 1) / warmup
    if recipe.schedule == "steps":
        passed = sum(epoch >= round(step * recipe.epochs) for step in recipe.rate_steps)
        return recipe.learning_rate * 0.1**passed
    share = (1 + math.cos(math.pi * (epoch - warmup) / (recipe.epochs - warmup))) / 2
    return recipe.learning_rate * (recipe.final_rate + (1 - recipe.final_rate) * share)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate * group["scale"]
