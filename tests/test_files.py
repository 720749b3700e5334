"""Files are replaced at once or not at all."""

from pathlib import Path

import pytest

from legogcd.files import replacing, write_text


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
