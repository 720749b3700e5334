"""Threads of our own: many small products run best whole, one thread each, without a meeting after every one."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Barrier
from typing import TypeVar

import torch

Made = TypeVar("Made")


def in_slices(work: Callable[[int, int], None], count: int) -> None:
    """``work(begin, end)`` over slices of range(count), as many at once as torch has threads; here where that is one.

    >>> done = [0] * 5
    >>> in_slices(lambda begin, end: done.__setitem__(slice(begin, end), [1] * (end - begin)), 5)
    >>> done
    [1, 1, 1, 1, 1]
    """
    n_threads = min(torch.get_num_threads(), count)
    if n_threads <= 1:
        return work(0, count)
    bounds = [count * slice_ // n_threads for slice_ in range(n_threads + 1)]
    list(_pool(os.getpid(), torch.get_num_threads()).map(work, bounds[:-1], bounds[1:]))
    return None


def ahead(items: Iterator[Made]) -> Iterator[Made]:
    """The items in their order, each made by another thread while the one before it is used.

    >>> list(ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    nothing = object()
    with _start(1) as pool:  # leaving it waits for what is being made
        waiting = pool.submit(next, items, nothing)
        while (item := waiting.result()) is not nothing:
            waiting = pool.submit(next, items, nothing)
            yield item  # type: ignore[misc]


@cache
def _pool(process: int, count: int) -> ThreadPoolExecutor:
    """Threads to keep; a forked process has none of its parent's."""
    return _start(count)


def _start(count: int) -> ThreadPoolExecutor:
    """Threads in which torch does not split its work any further."""
    usual = torch.get_num_threads()
    pool = ThreadPoolExecutor(count, "legogcd", initializer=use_threads, initargs=(1,))
    all_there = Barrier(count)
    list(pool.map(lambda _: all_there.wait(), range(count)))
    torch.set_num_threads(usual)  # a thread's own number is also what later threads begin with: put that back
    return pool


def use_threads(count: int) -> None:
    """Let torch split the work of this thread, and of threads that start later, over so many."""
    torch.get_num_threads()  # a thread takes over the usual number at its first question, and must not do so later
    torch.set_num_threads(count)
