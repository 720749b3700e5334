"""A mean over steps, and that every brick that has one goes on after a checkpoint as if nothing had happened."""

import io

import pytest
import torch
from brick_samples import BRICKS, STATES, random_views
from torch import nn

from legogcd.bricks.shared.running_mean import RunningMean
from legogcd.errors import UserError


def test_it_follows_from_the_start():
    follower = RunningMean(momentum=0.9)
    start, expected = torch.tensor([1.0, 2.0], dtype=torch.float64), [1.0, 2.0]
    for new in ([3.0, 0.0], [5.0, 1.0]):
        follower.update(follower.current(start), torch.tensor(new, dtype=torch.float64))
        expected = [0.9 * old + 0.1 * value for old, value in zip(expected, new, strict=True)]
    assert follower.current(start).tolist() == pytest.approx(expected, abs=1e-15)


def test_evaluation_leaves_it_alone():
    follower = RunningMean(momentum=0.5).eval()
    follower.update(torch.zeros(2), torch.ones(2))
    assert follower.mean is None


def test_another_shape_is_refused():
    follower = RunningMean(momentum=0.5)
    follower.update(torch.zeros(4), torch.ones(4))
    with pytest.raises(UserError, match=r"shape \[4\], this step needs \[5\]"):
        follower.current(torch.zeros(5))


def save_and_load(state):
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize("steps_before", [0, 3])
def test_a_restored_brick_goes_on_like_the_one_saved(name, steps_before):
    steps = [random_views(seed) for seed in range(6)]
    running = nn.ModuleDict({"brick": BRICKS[name]()})
    for step in steps[:steps_before]:
        running["brick"](step)
    state = save_and_load(running.state_dict())
    assert list(state) == [f"brick.{kept}" for kept in STATES[name] if steps_before]
    restored = nn.ModuleDict({"brick": BRICKS[name]()})
    restored.load_state_dict(state)
    for step in steps[3:]:
        assert restored["brick"](step).item() == running["brick"](step).item()
    for kept, value in running.state_dict().items():
        assert restored.state_dict()[kept].equal(value)


@pytest.mark.parametrize("name", STATES)
def test_a_held_state_is_not_changed_by_later_steps_nor_by_evaluation(name):
    brick = BRICKS[name]()
    brick(random_views(1))
    held = brick.state_dict()
    before = {kept: value.clone() for kept, value in held.items()}
    brick.eval()(random_views(2))
    assert all(brick.state_dict()[kept].equal(value) for kept, value in before.items())
    brick.train()(random_views(2))
    assert all(held[kept].equal(value) for kept, value in before.items())
    assert not all(brick.state_dict()[kept].equal(value) for kept, value in before.items())


@pytest.mark.parametrize("name", STATES)
def test_what_is_remembered_has_no_gradient_and_survives_inference_mode(name):
    brick = BRICKS[name]().eval()
    with torch.inference_mode():
        brick(random_views(1))
    views = random_views(2)
    views.logits.requires_grad_()
    brick.train()(views).backward()
    assert not any(value.requires_grad for value in brick.state_dict().values())


@pytest.mark.parametrize("name", STATES)
def test_another_number_of_classes_is_refused(name):
    brick = BRICKS[name]()
    brick(random_views(0, classes=4))
    with pytest.raises(UserError, match="for another number of classes"):
        brick(random_views(0, classes=5))
