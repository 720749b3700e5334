"""Run folders that somebody else made: nothing outside the folder of images is linked, copied or looked at."""

import os
import socket
from pathlib import Path

import pytest
from exported_runs import PLACING, READERS, read_folders, read_json, write_images, write_run
from PIL import Image

from legogcd.errors import UserError
from legogcd.export import FORMATS, export_run

LOOKING = [name for name, chosen in FORMATS.items() if chosen.needs_images]


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    """What a stranger would like to have: a text, also called like a picture, and a private picture."""
    folder = tmp_path / "secrets"
    folder.mkdir()
    (folder / "passwd").write_text("root:x:0:0")
    (folder / "passwd.png").write_text("root:x:0:0")
    Image.new("L", (2, 2)).save(folder / "private.png")
    return folder


def stolen(out: Path) -> list[Path]:
    """Files of an export whose content, or what they link to, is below secrets."""
    hits = []
    for path in out.rglob("*") if out.exists() else []:
        if path.is_file() and b"root:x:0:0" in path.read_bytes():
            hits.append(path)
        if "secrets" in os.path.realpath(path):
            hits.append(path)
    return hits


@pytest.mark.parametrize("to", LOOKING)
def test_the_image_folder_of_a_stranger_is_not_believed(to: str, secrets: Path, tmp_path: Path) -> None:
    rows = [(name, "x", "novel", "0.5", "x") for name in ("passwd", "passwd.png", "private.png")]
    run = write_run(tmp_path / "run", rows, secrets, made_here=False)
    with pytest.raises(UserError, match="--images"):
        export_run(run, to, tmp_path / "out", link="copy")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("link", ["symlink", "hard", "copy"])
@pytest.mark.parametrize("to", LOOKING)
def test_paths_that_lead_out_are_refused_and_named(to: str, link, secrets: Path, tmp_path: Path) -> None:
    images = write_images(tmp_path / "photos", ["ok.png", "sub/ok.png"])
    (tmp_path / "photos-private").mkdir()
    Image.new("L", (2, 2)).save(tmp_path / "photos-private" / "p.png")
    (images / "link.png").symlink_to(secrets / "private.png")
    (images / "linked").symlink_to(secrets)
    (images / "twin").symlink_to(tmp_path / "photos-private")
    (images / "inner.png").symlink_to(images / "ok.png")
    leading_out = [
        "../secrets/private.png",
        "sub/../../secrets/private.png",
        str(secrets / "private.png"),
        "link.png",
        "linked/private.png",
        "twin/p.png",
        "../photos-private/p.png",
        "\0.png",
    ]
    rows = [(name, "x", "novel", "0.5", "x") for name in ["ok.png", "sub/ok.png", "inner.png", *leading_out]]
    run = write_run(tmp_path / "run", rows, images, made_here=False)
    done = export_run(run, to, tmp_path / "out", link=link, images=images)
    assert list(done.refused) == leading_out
    assert all("image folder" in reason for reason in done.refused.values())
    assert done.images == 3
    assert not stolen(tmp_path / "out")
    assert f"{len(leading_out)} images refused: " in "\n".join(done.lines())


def test_only_images_leave_by_name_and_by_content(secrets: Path, tmp_path: Path) -> None:
    images = write_images(tmp_path / "photos", ["ok.png"])
    (images / "secret.txt").write_text("root:x:0:0")
    (images / "secret.png").write_text("root:x:0:0")
    (images / "script.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    (images / "empty.png").touch()
    (images / "folder.png").mkdir()
    os.mkfifo(images / "pipe.png")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(images / "socket.png"))
    Image.new("L", (2, 2)).save(images / "picture.key", "PNG")
    unreadable = ["secret.png", "script.png", "empty.png", "folder.png", "pipe.png", "socket.png"]
    names = ["ok.png", "secret.txt", "picture.key", *unreadable]
    run = write_run(tmp_path / "run", [(name, "x", "novel", "0.5", "x") for name in names], images)
    for to in LOOKING:
        done = export_run(run, to, tmp_path / to, link="copy")
        assert done.images == 1
        assert list(done.missing) == unreadable
        assert done.refused == {
            "secret.txt": "'secret.txt' is not called like an image",
            "picture.key": "'picture.key' is not called like an image",
        }
        assert not stolen(tmp_path / to)


def test_a_run_made_here_needs_no_word_and_a_copy_of_it_does(tmp_path: Path) -> None:
    images = write_images(tmp_path / "photos", ["a.png"])
    run = write_run(tmp_path / "run", [("a.png", "x", "novel", "0.5", "x")], images)
    export_run(run, "folders", tmp_path / "out")
    run.rename(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="--images"):
        export_run(tmp_path / "elsewhere", "folders", tmp_path / "again")
    export_run(tmp_path / "elsewhere", "folders", tmp_path / "again", images=images)
    assert read_folders(tmp_path / "again", images) == {"a.png": "x"}


def test_nothing_but_paths_is_refused_where_no_image_is_looked_at(secrets: Path, tmp_path: Path) -> None:
    rows = [(str(secrets / "passwd"), "x", "novel", "0.5", "x")]
    run = write_run(tmp_path / "run", rows, Path("/"), made_here=False)
    export_run(run, "csv", tmp_path / "table")
    assert READERS["csv"](tmp_path / "table", secrets) == {str(secrets / "passwd"): "x"}
    export_run(run, "label-studio", tmp_path / "tasks", url_prefix="https://host/")
    assert len(read_json(tmp_path / "tasks" / "tasks.json")) == 1
    assert not stolen(tmp_path / "table")
    assert not stolen(tmp_path / "tasks")


@pytest.mark.parametrize("to", PLACING)
def test_if_nothing_may_be_read_nothing_appears(to: str, secrets: Path, tmp_path: Path) -> None:
    images = write_images(tmp_path / "photos", ["ok.png"])
    run = write_run(tmp_path / "run", [("../secrets/private.png", "x", "novel", "0.5", "x")], images)
    with pytest.raises(UserError, match=r"may be read: '\.\./secrets/private\.png' leads out of the image folder"):
        export_run(run, to, tmp_path / "out")
    assert not (tmp_path / "out").exists()
