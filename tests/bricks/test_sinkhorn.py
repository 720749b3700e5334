import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from legogcd.bricks.shared.sinkhorn import sinkhorn_knopp
from legogcd.errors import UserError

LAW = settings(max_examples=25, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)


def cosines(seed, rows, classes):
    generator = torch.Generator().manual_seed(seed)
    return 2 * torch.rand(rows, classes, generator=generator, dtype=torch.float64) - 1


def slow_sinkhorn(logits, epsilon, iterations):
    """Columns to N/K, rows to one, cell by cell."""
    q = [[math.exp(z / epsilon) for z in row] for row in logits.tolist()]
    rows, classes = range(len(q)), range(len(q[0]))
    for _ in range(iterations):
        for k in classes:
            total = sum(q[i][k] for i in rows)
            for i in rows:
                q[i][k] *= len(q) / len(q[0]) / total
        for i in rows:
            total = sum(q[i])
            for k in classes:
                q[i][k] /= total
    return np.array(q)


@pytest.mark.parametrize(("rows", "classes"), [(1, 1), (1, 4), (5, 1), (7, 3), (3, 7)])
@pytest.mark.parametrize("iterations", [1, 3])
def test_matches_a_double_loop(rows, classes, iterations):
    logits = cosines(rows, rows, classes)
    expected = slow_sinkhorn(logits, 0.05, iterations)
    np.testing.assert_allclose(sinkhorn_knopp(logits, 0.05, iterations).numpy(), expected, rtol=1e-10, atol=1e-14)


def test_many_iterations_reach_the_fixed_point():
    logits = cosines(0, 12, 4)
    q = sinkhorn_knopp(logits, epsilon=0.5, iterations=200)
    torch.testing.assert_close(q.sum(dim=1), torch.ones(12, dtype=torch.float64))
    torch.testing.assert_close(q.sum(dim=0), torch.full((4,), 3.0, dtype=torch.float64))
    scaling = q.log() - logits / 0.5  # log u_i + log v_k: what is left is a sum of one number a row and one a column
    torch.testing.assert_close(scaling - scaling[:1], (scaling - scaling[:1])[:, :1].expand(12, 4))


def test_two_by_two_has_a_closed_form():
    q = sinkhorn_knopp(torch.tensor([[0.2, 0.0], [0.1, 0.0]], dtype=torch.float64), epsilon=0.05, iterations=100)
    a = 1 / (1 + math.exp(-(0.2 - 0.1) / 0.05 / 2))  # q11·q22/(q12·q21) = e², with q11 = q22
    np.testing.assert_allclose(q.numpy(), [[a, 1 - a], [1 - a, a]], atol=1e-12)


@LAW
@given(seed=SEEDS, rows=st.integers(1, 9), classes=st.integers(1, 6), iterations=st.integers(1, 4))
def test_rows_sum_to_one_whatever_the_logits(seed, rows, classes, iterations):
    q = sinkhorn_knopp(cosines(seed, rows, classes).float(), iterations=iterations)
    assert (q >= 0).all()
    torch.testing.assert_close(q.sum(dim=1), torch.ones(rows))


@LAW
@given(seed=SEEDS, order=st.permutations(range(5)), classes=st.permutations(range(4)))
def test_the_order_of_rows_and_of_classes_does_not_matter(seed, order, classes):
    logits = cosines(seed, 5, 4)
    torch.testing.assert_close(sinkhorn_knopp(logits[order][:, classes]), sinkhorn_knopp(logits)[order][:, classes])


@LAW
@given(seed=SEEDS, kept=st.lists(st.booleans(), min_size=8, max_size=8).filter(any))
def test_rows_of_weight_zero_have_no_say(seed, kept):
    logits, mask = cosines(seed, 8, 3), torch.tensor(kept)
    weighted = sinkhorn_knopp(logits, weights=mask)
    torch.testing.assert_close(weighted[mask], sinkhorn_knopp(logits[mask]))
    torch.testing.assert_close(weighted.sum(dim=1), torch.ones(8, dtype=torch.float64))


def test_a_row_of_weight_two_counts_as_two_rows():
    logits = cosines(0, 4, 3)
    doubled = sinkhorn_knopp(torch.cat([logits, logits[:1]]))
    torch.testing.assert_close(sinkhorn_knopp(logits, weights=torch.tensor([2, 1, 1, 1])), doubled[:4])


def test_without_any_weight_nothing_is_balanced():
    logits = cosines(0, 4, 3)
    nobody = torch.zeros(4, dtype=torch.bool)
    torch.testing.assert_close(sinkhorn_knopp(logits, weights=nobody), torch.softmax(logits / 0.05, dim=-1))


def test_a_single_row_is_spread_evenly():
    torch.testing.assert_close(sinkhorn_knopp(torch.tensor([[0.9, -0.2, 0.1, 0.4]])), torch.full((1, 4), 0.25))


def test_leading_dimensions_are_balanced_apart():
    logits = torch.stack([cosines(0, 6, 3), cosines(1, 6, 3)])
    mask = torch.tensor([True, False, True, True, False, True])
    apart = torch.stack([sinkhorn_knopp(view, weights=mask) for view in logits])
    torch.testing.assert_close(sinkhorn_knopp(logits, weights=mask), apart)


@pytest.mark.parametrize("scale", [1e4, -1e4])
def test_exponentials_that_would_overflow_do_not(scale):
    logits = (cosines(0, 6, 3) * scale).float()
    q = sinkhorn_knopp(logits)
    assert torch.isfinite(q).all()
    torch.testing.assert_close(q.sum(dim=1), torch.ones(6))


@pytest.mark.parametrize(("given_", "computed"), [(torch.float16, torch.float32), (torch.float64, torch.float64)])
def test_it_is_computed_in_float32_at_least_and_carries_no_gradient(given_, computed):
    logits = cosines(0, 6, 3).to(given_).requires_grad_()
    q = sinkhorn_knopp(logits)
    assert q.dtype == computed
    assert not q.requires_grad
    torch.testing.assert_close(q.double(), sinkhorn_knopp(logits.double()), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 0}, "epsilon is 0; give a number above 0"),
        ({"iterations": 0}, "iterations is 0; give a whole number of 1 or more"),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(UserError, match=message):
        sinkhorn_knopp(torch.zeros(2, 2), **arguments)
