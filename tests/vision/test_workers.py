"""Threads of our own: work done once and whole, items in order, torch's own threads left as they were."""

import threading
import time

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from legogcd.vision.views.workers import ahead, in_slices


@settings(max_examples=25, deadline=None)
@given(count=st.integers(0, 20), threads=st.integers(1, 4))
def test_every_place_is_worked_on_once_by_threads_that_do_not_split(count: int, threads: int) -> None:
    usual = torch.get_num_threads()
    torch.set_num_threads(threads)
    seen, inside = [], []

    def work(begin: int, end: int) -> None:
        seen.extend(range(begin, end))
        inside.append(torch.get_num_threads())

    try:
        in_slices(work, count)
        assert sorted(seen) == list(range(count))
        assert threads == 1 or count <= 1 or set(inside) == {1}
        assert torch.get_num_threads() == threads
        began_with: list[int] = []
        later = threading.Thread(target=lambda: began_with.append(torch.get_num_threads()))
        later.start()
        later.join()
        assert began_with == [threads]
    finally:
        torch.set_num_threads(usual)


def test_an_error_in_a_slice_is_the_callers() -> None:
    def work(begin: int, end: int) -> None:
        raise KeyError(begin)

    with pytest.raises(KeyError):
        in_slices(work, 10)


def test_one_item_is_made_while_the_one_before_is_used_and_no_more() -> None:
    made: list[int] = []

    def make() -> int:
        made.append(len(made))
        return made[-1]

    for item in ahead(make() for _ in range(6)):
        deadline = time.monotonic() + 10
        while len(made) < min(item + 2, 6) and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(0.01)
        assert made == list(range(min(item + 2, 6)))
    assert made == list(range(6))


def test_an_error_while_fetching_is_raised_where_the_item_is_wanted() -> None:
    def items():
        yield 1
        raise OSError("the disk is gone")

    fetched = ahead(items())
    assert next(fetched) == 1
    with pytest.raises(OSError, match="the disk is gone"):
        next(fetched)


def test_leaving_early_ends_the_thread() -> None:
    before = threading.active_count()
    items = ahead(iter(range(100)))
    assert next(items) == 0
    items.close()
    assert threading.active_count() == before
