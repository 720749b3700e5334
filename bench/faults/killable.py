"""``legogcd`` with a Ray whose processes say when they are in the middle of their work, and wait to be killed there.

They say it by a file named after their process in the folder MEETING, go on working, and wait before they are done
until there is a file ``go on``: so whoever wants to kill one never comes too late, however slow the machine is.
"""

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bench.faults.trial import EPOCHS, checkpoint_every_epoch
from legogcd.vision.views.shards import Shard

GO_ON = "go on"
COMMAND = "from bench.faults.killable import main; main()"  # as a module of a name, so that Ray's processes find it
SHARD_IMAGES, PART_IMAGES = 21, 8  # several shards and parts, as a large run has them


def main() -> None:
    """In the command's process: its arguments are MEETING, whether shards or training are to be killed, and words."""
    from legogcd.cli import main as command
    from legogcd.run.engines import ray as engine

    meeting, what = Path(sys.argv[1]), sys.argv[2]
    del sys.argv[1:3]
    in_small_pieces()
    make, train = engine.RayEngine._make, engine.train_on_cluster

    def make_killable(self: Any, work: engine.Work, *given: Any) -> int:
        return make(self, partial(make_shard, meeting, work) if what == "shards" else work, *given)

    def train_killable(work: Callable[[], None], *given: Any) -> None:
        train(partial(train_process, meeting, work), *given)

    engine.RayEngine._make = make_killable  # type: ignore[method-assign]
    engine.train_on_cluster = train_killable
    command()


def in_small_pieces() -> None:
    """Several shards, several parts, a checkpoint after every epoch."""
    from legogcd.run import prediction_parts
    from legogcd.vision.views import shards

    checkpoint_every_epoch()
    shards.SHARD_IMAGES, prediction_parts.PART_IMAGES = SHARD_IMAGES, PART_IMAGES


def make_shard(meeting: Path, work: Callable[[Path, Shard], int], folder: Path, shard: Shard) -> int:
    """In an actor: from the second shard on it may be killed."""
    if shard.number:
        say_here(meeting)
    made = work(folder, shard)
    if shard.number:
        wait(meeting)
    return made


def train_process(meeting: Path, work: Callable[[], None]) -> None:
    """In a training process: from the second epoch to the last it may be killed."""
    from legogcd.training.loop import EpochLog

    in_small_pieces()
    add = EpochLog.add

    def add_killable(log: EpochLog, step: Any) -> None:
        add(log, step)
        if log.epoch == 1:
            say_here(meeting)
        if log.epoch == EPOCHS - 1:
            wait(meeting)

    EpochLog.add = add_killable  # type: ignore[method-assign]
    work()


def say_here(meeting: Path) -> None:
    (meeting / str(os.getpid())).touch()


def wait(meeting: Path) -> None:
    while not (meeting / GO_ON).exists():
        time.sleep(0.02)


def those_here(meeting: Path) -> list[int]:
    """The processes that may be killed."""
    return sorted(int(path.name) for path in meeting.iterdir() if path.name.isdigit())


def let_go(meeting: Path) -> None:
    (meeting / GO_ON).touch()
