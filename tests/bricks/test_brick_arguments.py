"""A wrong argument ends in one line that says what was given and what is accepted."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from brick_samples import BRICKS, STATES, random_views

from legogcd.bricks import (
    Brick,
    ClassDistributions,
    ConsensusDistillation,
    DualViewKL,
    HierarchicalContrast,
    InfoNCE,
    KnownHead,
    LocalEntropy,
    MeanEntropy,
    MeanShiftContrast,
    PriorAlignment,
    SelfDistillation,
    SupCon,
    SupervisedCE,
)
from legogcd.errors import UserError

WITH_TEMPERATURE = [
    *(InfoNCE, SupCon, SupervisedCE, MeanEntropy, DualViewKL, LocalEntropy),
    *(PriorAlignment, ClassDistributions, KnownHead),
]


@pytest.mark.parametrize("brick", WITH_TEMPERATURE)
@pytest.mark.parametrize("temperature", [0, -0.1, math.nan, math.inf, "warm", None])
def test_temperatures_are_positive_numbers(brick, temperature):
    with pytest.raises(UserError, match=r"temperature is .*; give a number above 0"):
        brick(temperature=temperature)


@pytest.mark.parametrize(
    ("brick", "arguments", "message"),
    [
        (DualViewKL, {"form": "turned"}, "form is 'turned'; give one of 'paper', 'symmetric', 'released'"),
        (LocalEntropy, {"margin": "both"}, "margin is 'both'; give one of 'paper', 'released', None"),
        (LocalEntropy, {"threshold": 70}, "threshold is 70; give a number from 0 to 1"),
        (LocalEntropy, {"threshold": -0.1}, "threshold is -0.1"),
        (LocalEntropy, {"threshold": math.nan}, "threshold is nan"),
        (LocalEntropy, {"confidence_temperature": 0}, "confidence_temperature is 0"),
        (LocalEntropy, {"margin_strength": -1}, "margin_strength is -1; give a number of 0 or more"),
        (LocalEntropy, {"momentum": 1.5}, "momentum is 1.5; give a number from 0 to 1"),
        (LocalEntropy, {"n_classes": 0}, "n_classes is 0; give a whole number of 1 or more"),
        (SelfDistillation, {"student_temperature": 0}, "student_temperature is 0"),
        (SelfDistillation, {"teacher_temperatures": (0.07, 0)}, "a teacher temperature is 0"),
        (SelfDistillation, {"teacher_temperatures": 0.04}, "give a pair"),
        (SelfDistillation, {"warmup_epochs": -1}, "warmup_epochs is -1; give a whole number of 0 or more"),
        (SelfDistillation, {"warmup_epochs": 4.5}, "warmup_epochs is 4.5"),
        (SelfDistillation, {"warmup": "step"}, "warmup is 'step'; give one of 'linear', 'cosine'"),
        (PriorAlignment, {"prior_temperature": 0}, "prior_temperature is 0; give a number above 0"),
        (PriorAlignment, {"uniform_share": 1.5}, "uniform_share is 1.5; give a number from 0 to 1"),
        (PriorAlignment, {"momentum": -0.1}, "momentum is -0.1; give a number from 0 to 1"),
        (ConsensusDistillation, {"disagreement_weight": 2}, "disagreement_weight is 2; give a number from 0 to 1"),
        (ConsensusDistillation, {"student_temperature": 0}, "student_temperature is 0"),
        (LocalEntropy, {"warmup_epochs": -1}, "warmup_epochs is -1"),
        (HierarchicalContrast, {"contrast_temperature": 0}, "contrast_temperature is 0; give a number above 0"),
        (HierarchicalContrast, {"levels": 0}, "levels is 0; give a whole number of 1 or more"),
        (MeanShiftContrast, {"contrast_temperature": -1}, "contrast_temperature is -1; give a number above 0"),
        (MeanShiftContrast, {"shift": 1.5}, "shift is 1.5; give a number from 0 to 1"),
        (MeanShiftContrast, {"neighbors": 0}, "neighbors is 0; give a whole number of 1 or more"),
    ],
)
def test_what_else_is_refused(brick, arguments, message):
    with pytest.raises(UserError, match=message) as caught:
        brick(**arguments)
    assert "\n" not in str(caught.value)


def test_the_ends_of_the_range_and_numpy_numbers_are_accepted():
    LocalEntropy(threshold=0)
    LocalEntropy(threshold=1, margin_strength=0, momentum=1)
    InfoNCE(np.float32(0.5))
    SelfDistillation(warmup_epochs=np.int64(3), teacher_temperatures=[0.07, 0.04])


@pytest.mark.parametrize("name", BRICKS)
def test_views_that_do_not_fit_the_labels_are_named(name):
    views = random_views(0)
    short = replace(views, projections=views.projections[:, :5], logits=views.logits[:, :5])
    with pytest.raises(UserError, match=r"has shape \[2, 5, .\] beside labels of shape \[6\]"):
        BRICKS[name]()(short)
    with pytest.raises(UserError, match=r"\[2, B, dimensions\]"):
        BRICKS[name]()(replace(views, projections=views.projections[0], logits=views.logits[0]))


def test_bricks_without_a_running_mean_have_no_state():
    for name in BRICKS:
        brick = BRICKS[name]()
        brick(random_views(0))
        assert isinstance(brick, Brick)
        assert list(brick.parameters()) == []
        assert list(brick.state_dict()) == STATES.get(name, [])


def test_selected_is_detached_and_boolean():
    for name in BRICKS:
        views = random_views(0)
        views.logits.requires_grad_()
        brick = BRICKS[name]()
        brick(views)
        assert brick.selected.dtype == torch.bool
        assert not brick.selected.requires_grad
