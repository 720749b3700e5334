"""Threads of our own: many small products run best whole, one thread each, without a meeting after every one."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Barrier
from typing import TypeVar

import torch

Made = TypeVar("Made")

SLICES = 16


def in_slices(work: Callable[[int, int], None], count: int) -> None:
    """``work(begin, end)`` over slices of range(count), as many at once as torch has threads; here where that is one.

    The slices are the same for any number of threads up to 16. There are more of them than threads: where another
    process has taken a core, the thread on the other one does more of the work and nobody waits long.

    >>> done = [0] * 5
    >>> in_slices(lambda begin, end: done.__setitem__(slice(begin, end), [1] * (end - begin)), 5)
    >>> done
    [1, 1, 1, 1, 1]
    """
    n_threads = torch.get_num_threads()
    n_slices = min(max(SLICES, n_threads), count)
    bounds = [count * slice_ // n_slices for slice_ in range(n_slices + 1)] if count else []
    run = map if n_threads <= 1 or n_slices <= 1 else _pool(os.getpid(), n_threads).map
    list(run(work, bounds[:-1], bounds[1:]))


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
