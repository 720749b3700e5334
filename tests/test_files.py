"""Files are replaced at once or not at all."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from legogcd import files
from legogcd.files import append_line, replacing, slug, sweep_temporaries, write_text


def test_a_failure_leaves_the_old_content_and_no_litter(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "old")

    def fail() -> None:
        with replacing(tmp_path / "a.txt") as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.txt", "old")]


def test_folders_are_made_and_bytes_are_the_same_everywhere(tmp_path: Path) -> None:
    write_text(tmp_path / "b" / "c.txt", "ü\n")
    assert (tmp_path / "b" / "c.txt").read_bytes() == b"\xc3\xbc\n"


def test_the_folder_is_brought_to_the_disk_after_the_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    sync, replace = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        done.append("folder" if os.path.samestat(os.fstat(descriptor), tmp_path.stat()) else "file")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", lambda *given: done.append("rename") or replace(*given))
    write_text(tmp_path / "a.txt", "new")
    assert done == ["file", "rename", "folder"]
    done.clear()
    append_line(tmp_path / "log", "first")
    append_line(tmp_path / "log", "ü")
    assert done == ["file", "folder", "file"]
    assert (tmp_path / "log").read_bytes() == b"first\n\xc3\xbc\n"
    with pytest.raises(ValueError, match="one line"):
        append_line(tmp_path / "log", "two\nlines")


def test_a_folder_that_cannot_be_synced_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync = os.fsync

    def refuse(descriptor: int) -> None:
        if os.path.samestat(os.fstat(descriptor), tmp_path.stat()):
            raise OSError(22, "Invalid argument")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", refuse)
    write_text(tmp_path / "a.txt", "new")
    assert (tmp_path / "a.txt").read_text() == "new"


KILLED = """
import os, signal, sys, time
from legogcd.files import replacing
with replacing(sys.argv[1]) as temporary:
    temporary.write_text("half")
    print(temporary.name, flush=True)
    time.sleep(60)
"""


def test_only_abandoned_temporaries_are_swept(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, tmp_path / "model.safetensors"], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    theirs = tmp_path / child.stdout.readline().strip()
    assert theirs.suffix == ".safetensors"
    others = tmp_path / f".a.txt.tmp-elsewhere-{child.pid}-abcd_123.txt"
    restarted = tmp_path / f".a.txt.tmp-{slug(socket.gethostname())}-{os.getpid()}-abcd_123.txt"
    for path in (others, restarted, tmp_path / ".a.txt.swp", tmp_path / ".tmp-notes", tmp_path / "model.safetensors"):
        path.write_text("x")
    with replacing(tmp_path / "mine.txt") as mine:
        mine.write_text("x")
        assert sweep_temporaries(tmp_path) == [restarted]  # a dead process may have had our number
    assert (tmp_path / "mine.txt").exists()
    child.kill()
    child.wait()
    assert sweep_temporaries(tmp_path) == [theirs]
    week = time.time() - files._FORGOTTEN - 60
    os.utime(others, (week, week))
    assert sweep_temporaries(tmp_path) == [others]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".a.txt.swp",
        ".tmp-notes",
        "mine.txt",
        "model.safetensors",
    ]
