"""Half precision in, float32 arithmetic inside; and no step waits for the device."""

from dataclasses import replace

import pytest
import torch
from brick_samples import BRICKS, random_views
from torch._subclasses.fake_tensor import FakeTensorMode

from legogcd.bricks import TwoViews, confident_known


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", BRICKS)
def test_half_precision_views_are_computed_in_float32(name, dtype):
    views = random_views(0)
    half = replace(views, projections=views.projections.to(dtype), logits=views.logits.to(dtype))
    exact = replace(half, projections=half.projections.double(), logits=half.logits.double())
    value = BRICKS[name]()(half)
    assert value.dtype == torch.float32
    assert value.item() == pytest.approx(BRICKS[name]()(exact).item(), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", BRICKS)
def test_autocast_does_not_coarsen_a_term(name):
    views = random_views(0)
    views = replace(views, projections=views.projections.float(), logits=views.logits.float())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value = BRICKS[name]()(views)
    assert value.dtype == torch.float32
    assert value == BRICKS[name]()(views)


@pytest.mark.parametrize("name", BRICKS)
def test_float64_stays_float64(name):
    assert BRICKS[name]()(random_views(0)).dtype == torch.float64


@pytest.mark.parametrize("name", BRICKS)
def test_no_value_is_asked_of_the_device(name):
    with FakeTensorMode():  # tensors without values: reading one raises
        views = TwoViews(
            torch.randn(2, 4, 8, requires_grad=True),
            torch.randn(2, 4, 5, requires_grad=True),
            torch.zeros(4, dtype=torch.long),
            n_known=3,
            epoch=0,
        )
        brick = BRICKS[name]()
        for _ in range(2):
            assert brick(views).shape == ()
        assert confident_known(views, 0.7).shape == (2, 4)
