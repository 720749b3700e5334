"""A lock is one process's until it lets go or dies, and says whose it is."""

import errno
import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from legogcd.locks import Holder, Locked, holder_of, locked, try_lock

HOLD = """
import sys, time
from legogcd.locks import locked
with locked(sys.argv[1], remove=sys.argv[2] == "remove"):
    print("held", flush=True)
    time.sleep(float(sys.argv[3]))
"""


def holding(path: Path, seconds: float = 60, remove: str = "keep") -> subprocess.Popen[str]:
    """Another process that has the lock when this returns."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, path, remove, str(seconds)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def test_a_taken_lock_is_refused_at_once_with_its_holder(tmp_path: Path) -> None:
    child = holding(tmp_path / "lock")
    try:
        with pytest.raises(Locked, match=f"in use by process {child.pid} on {socket.gethostname()}") as refused:
            try_lock(tmp_path / "lock")
        assert refused.value.holder == Holder(child.pid, socket.gethostname())
        assert holder_of(tmp_path / "lock") == Holder(child.pid, socket.gethostname())
    finally:
        child.kill()
        child.wait()


def test_death_releases(tmp_path: Path) -> None:
    child = holding(tmp_path / "lock")
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    with try_lock(tmp_path / "lock") as lock:
        assert lock.guards
        assert (tmp_path / "lock").read_text() == f"{os.getpid()} {socket.gethostname()}\n"
    assert holder_of(tmp_path / "lock") is None
    assert holder_of(tmp_path / "none") is None
    assert not (tmp_path / "none").exists()


def test_waiting_ends_when_the_other_lets_go(tmp_path: Path) -> None:
    child = holding(tmp_path / "lock", seconds=0.5)
    with locked(tmp_path / "lock"):
        assert child.wait(10) == 0


def test_threads_exclude_each_other_and_a_released_lock_is_free(tmp_path: Path) -> None:
    lock = try_lock(tmp_path / "lock")
    with pytest.raises(Locked):
        try_lock(tmp_path / "lock")
    lock.release()
    lock.release()
    try_lock(tmp_path / "lock").release()


COUNT = """
import sys
from pathlib import Path
from legogcd.locks import locked
folder = Path(sys.argv[1])
for _ in range(200):
    with locked(folder / "lock", remove=True):
        count = int((folder / "count").read_text())
        (folder / "count").write_text(str(count + 1))
"""


def test_nobody_slips_in_while_the_file_is_removed(tmp_path: Path) -> None:
    """Removing a lock's file is the classic race: who waited for the old one and who makes a new one both go on."""
    (tmp_path / "count").write_text("0")
    children = [subprocess.Popen([sys.executable, "-c", COUNT, tmp_path]) for _ in range(3)]
    assert [child.wait(60) for child in children] == [0, 0, 0]
    assert (tmp_path / "count").read_text() == "600"
    assert not (tmp_path / "lock").exists()


def test_who_waited_for_a_file_that_was_removed_takes_the_new_one(tmp_path: Path) -> None:
    first, order = try_lock(tmp_path / "lock", remove=True), []

    def wait(name: str) -> None:
        with locked(tmp_path / "lock", remove=True):
            order.append(name)
            assert (tmp_path / "lock").exists()
            time.sleep(0.05)

    threads = [threading.Thread(target=wait, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    first.release()
    for thread in threads:
        thread.join(10)
    assert sorted(order) == ["a", "b"]


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP])
def test_a_file_system_without_locks_is_said_and_does_not_stop_anybody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", refuse)
    said: list[str] = []
    with locked(tmp_path / "lock", warn=said.append, remove=True) as lock:
        assert not lock.guards
    with try_lock(tmp_path / "lock") as lock:
        assert not lock.guards
    assert len(said) == 1
    assert "without locks" in said[0]


def test_other_failures_are_not_swallowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(fcntl, "flock", fail)
    with pytest.raises(OSError, match="broken"):
        try_lock(tmp_path / "lock")


def test_a_holder_that_left_no_readable_name(tmp_path: Path) -> None:
    with try_lock(tmp_path / "lock"):
        (tmp_path / "lock").write_bytes(b"\xff\x00")
        with pytest.raises(Locked, match="in use by another process"):
            try_lock(tmp_path / "lock")
