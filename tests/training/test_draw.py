"""The balanced draw of PAPER section 2."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from legogcd.training.draw import balanced_batches, epoch_generator


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 60), st.integers(0, 60), st.integers(1, 70), st.integers(0, 5))
def test_batches_are_full_in_range_and_as_many_as_fit(labelled: int, unlabelled: int, batch: int, seed: int) -> None:
    labels = torch.tensor([0] * labelled + [-1] * unlabelled)
    batches = list(balanced_batches(labels, batch, epoch_generator(seed, 0)))
    size = min(batch, len(labels))
    assert [len(b) for b in batches] == [size] * (len(labels) // size)
    assert all(0 <= int(i) < len(labels) for b in batches for i in b)


def test_labelled_and_unlabelled_images_appear_equally_often() -> None:
    labels = torch.tensor([0] * 1_000 + [-1] * 19_000)
    drawn = torch.cat(list(balanced_batches(labels, 128, epoch_generator(0, 0))))
    assert float((labels[drawn] >= 0).double().mean()) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("labels", [[0] * 400, [-1] * 400])
def test_one_kind_alone_is_drawn_evenly(labels: list[int]) -> None:
    drawn = torch.cat([b for e in range(50) for b in balanced_batches(torch.tensor(labels), 50, epoch_generator(0, e))])
    counts = torch.bincount(drawn, minlength=400)
    assert len(drawn) == 50 * 400
    assert int(counts.min()) > 20  # 50 draws an image expected; replacement spreads them
    assert int(counts.max()) < 90


def test_an_epoch_draws_the_same_whatever_came_before_and_differs_from_the_next() -> None:
    labels = torch.tensor([0] * 20 + [-1] * 30)
    first, again, later, other = (
        torch.cat(list(balanced_batches(labels, 10, epoch_generator(*key)))).tolist()
        for key in ((0, 3), (0, 3), (0, 4), (1, 3))
    )
    assert first == again
    assert first != later
    assert first != other
