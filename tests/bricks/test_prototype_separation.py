import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from block_samples import random_views
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode

from legogcd.bricks import PrototypeSeparation
from legogcd.errors import UserError


def random_prototypes(seed, classes=5, dimensions=4):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(classes, dimensions, generator=generator, dtype=torch.float64)


def views_with(prototypes):
    return replace(random_views(0), prototypes=prototypes)


def slow_separation(prototypes, temperature):
    c = prototypes.numpy()
    terms = []
    for k in range(len(c)):
        cosines = [c[k] @ c[j] / np.linalg.norm(c[k]) / np.linalg.norm(c[j]) for j in range(len(c)) if j != k]
        terms.append(math.log(sum(math.exp(cosine / temperature) for cosine in cosines) / len(cosines)))
    return sum(terms) / len(terms)


@pytest.mark.parametrize(("classes", "dimensions"), [(2, 1), (2, 3), (5, 4), (9, 3)])
@pytest.mark.parametrize("temperature", [0.1, 0.7])
def test_matches_a_double_loop(classes, dimensions, temperature):
    prototypes = random_prototypes(1, classes, dimensions)
    value = PrototypeSeparation(temperature)(views_with(prototypes))
    assert value.item() == pytest.approx(slow_separation(prototypes, temperature), abs=1e-11)


def test_orthogonal_equal_and_opposite_prototypes():
    brick = PrototypeSeparation(temperature=0.2)
    assert brick(views_with(torch.eye(4, dtype=torch.float64))).item() == pytest.approx(0, abs=1e-13)
    assert brick(views_with(torch.ones(4, 3, dtype=torch.float64))).item() == pytest.approx(5)
    assert brick(views_with(torch.tensor([[2.0], [-3.0]], dtype=torch.float64))).item() == pytest.approx(-5)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), order=st.permutations(range(5)), exponents=st.tuples(*[st.integers(-9, 9)] * 5))
def test_neither_order_nor_length_nor_axes_count(seed, order, exponents):
    prototypes = random_prototypes(seed)
    rotation, _ = torch.linalg.qr(random_prototypes(seed + 1, 4, 4))
    lengths = 10.0 ** torch.tensor(exponents, dtype=torch.float64)[:, None]
    moved = (lengths * prototypes @ rotation)[list(order)]
    torch.testing.assert_close(PrototypeSeparation()(views_with(moved)), PrototypeSeparation()(views_with(prototypes)))


def test_twenty_steps_drive_two_alike_prototypes_apart():
    prototypes = random_prototypes(0) / 4  # about as long as those of a method
    prototypes[1] = prototypes[0] + torch.tensor([0.03, -0.03, 0.03, 0.0])
    prototypes.requires_grad_()
    optimizer = torch.optim.SGD([prototypes], lr=0.1)
    assert torch.cosine_similarity(prototypes[0], prototypes[1], dim=0) > 0.99
    first = PrototypeSeparation()(views_with(prototypes)).item()
    for _ in range(20):
        optimizer.zero_grad()
        PrototypeSeparation()(views_with(prototypes)).backward()
        optimizer.step()
    assert torch.cosine_similarity(prototypes[0], prototypes[1], dim=0) < 0.5
    assert PrototypeSeparation()(views_with(prototypes)).item() < first


def test_gradient():
    def term(prototypes):
        return PrototypeSeparation()(views_with(prototypes))

    assert torch.autograd.gradcheck(term, random_prototypes(3).requires_grad_())


@pytest.mark.parametrize(
    "prototypes",
    [torch.zeros(4, 3), torch.ones(4, 3), torch.full((4, 3), 1e30), torch.full((4, 3), 1e-30), torch.zeros(1, 3)],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_everything_stays_finite(prototypes, dtype):
    prototypes = prototypes.detach().to(dtype).requires_grad_()
    value = PrototypeSeparation()(views_with(prototypes))
    value.backward()
    assert torch.isfinite(value)
    assert torch.isfinite(prototypes.grad).all()


def test_a_single_prototype_costs_nothing_and_is_not_moved():
    prototypes = random_prototypes(0, classes=1).requires_grad_()
    value = PrototypeSeparation()(views_with(prototypes))
    value.backward()
    assert value == 0
    assert (prototypes.grad == 0).all()


def test_no_view_takes_part():
    brick = PrototypeSeparation()
    brick(views_with(random_prototypes(0)))
    assert brick.selected.tolist() == [[False] * 6] * 2


def test_half_precision_and_autocast_are_computed_in_float32():
    half = random_prototypes(0).to(torch.bfloat16)
    value = PrototypeSeparation()(views_with(half))
    assert value.dtype == torch.float32
    assert value.item() == pytest.approx(PrototypeSeparation()(views_with(half.double())).item(), rel=1e-5)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert PrototypeSeparation()(views_with(half)) == value


def test_no_value_is_asked_of_the_device():
    views = random_views(0)
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert PrototypeSeparation()(replace(views, prototypes=torch.randn(5, 4))).shape == ()


def test_missing_or_misshapen_prototypes_are_named():
    with pytest.raises(UserError, match=r"prototypes are missing; give prototypes as \[classes, dimensions\]"):
        PrototypeSeparation()(random_views(0))
    with pytest.raises(UserError, match=r"prototypes are of shape \[2, 5, 4\]"):
        PrototypeSeparation()(views_with(torch.zeros(2, 5, 4)))
