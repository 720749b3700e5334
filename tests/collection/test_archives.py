"""Zip and tar files of images: what comes out stays below its folder, is an image by name, and is of a sane size."""

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from legogcd.collection import archives, as_images, find_images, from_sidecars, images_and_labels
from legogcd.errors import UserError
from legogcd.run.cache import kept_things, prune


def png(shade: int = 0) -> bytes:
    packed = io.BytesIO()
    Image.fromarray(np.full((8, 8, 3), shade, np.uint8)).save(packed, format="PNG")
    return packed.getvalue()


def make_zip(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return path


def make_tar(path: Path, members: dict[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as packed:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            packed.addfile(info, io.BytesIO(content))
    return path


@pytest.mark.parametrize("ending", [".zip", ".tar", ".tar.gz", ".tbz2"])
def test_the_images_of_an_archive_are_files_like_any_others(tmp_path: Path, ending: str) -> None:
    members = {"owl/a.png": png(1), "hawk/b.png": png(2), "readme.txt": b"hello", ".hidden.png": png(3)}
    modes = {".tar": "w", ".tar.gz": "w:gz", ".tbz2": "w:bz2"}
    target = tmp_path / f"birds{ending}"
    archive = make_zip(target, members) if ending == ".zip" else make_tar(target, members, modes[ending])
    said: list[str] = []
    images = find_images(archive, tmp_path / "cache", said.append)
    assert images.names == ("hawk/b.png", "owl/a.png")
    assert images.item(1).read_bytes() == png(1)
    assert images.skipped == {"readme.txt": "not an image", ".hidden.png": "hidden"}
    assert said[0].startswith(f"2 images of {archive} unpacked: ")
    before = images.fingerprint()
    assert find_images(archive, tmp_path / "cache").fingerprint() == before
    archives.forget_unpacked(images.root)
    assert find_images(archive, tmp_path / "cache").fingerprint() == before, "views kept of it would not be found again"


def test_a_folder_of_the_archives_own_name_is_the_image_folder(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "birds.zip", {"birds/owl/a.png": png(), "birds/b.png": png()})
    assert find_images(archive, tmp_path / "cache").names == ("b.png", "owl/a.png")


def test_no_member_gets_out_of_its_folder(tmp_path: Path) -> None:
    outside = {"../up.png": png(), "/abs.png": png(), "a/../../up.png": png(), "C:\\x.png": png(), "good.png": png()}
    images = find_images(make_zip(tmp_path / "evil.zip", outside), tmp_path / "cache" / "deep")
    assert images.names == ("good.png",)
    with tarfile.open(tmp_path / "links.tar", "w") as packed:
        for name, kind, target in (
            ("link.png", tarfile.SYMTYPE, "/etc/passwd"),
            ("hard.png", tarfile.LNKTYPE, "../../x"),
            ("fifo.png", tarfile.FIFOTYPE, ""),
            ("dir", tarfile.SYMTYPE, str(tmp_path)),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            packed.addfile(info)
        for name in ("dir/through.png", "good.png"):
            info = tarfile.TarInfo(name)
            info.size = len(png())
            packed.addfile(info, io.BytesIO(png()))
    images = find_images(tmp_path / "links.tar", tmp_path / "cache" / "deep")
    assert images.names == ("dir/through.png", "good.png")
    assert not images.root.joinpath("dir").is_symlink()
    assert images.skipped["link.png"] == "not a regular file"
    names = {path.name for path in tmp_path.rglob("*.png")}
    assert names == {"good.png", "through.png"}


def test_an_archive_that_grows_without_measure_is_refused_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "_FREE_GROWTH", 100_000)
    bombs = [make_zip(tmp_path / "bomb.zip", {f"{i}.png": bytes(400_000) for i in range(3)})]
    bombs.append(make_tar(tmp_path / "bomb.tar.gz", {"a.txt": bytes(3_000_000), "b.png": png()}, "w:gz"))
    for bomb in bombs:
        with pytest.raises(UserError, match="more than 100 times its size"):
            find_images(bomb, tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("*.png"))
    monkeypatch.setattr(archives, "LARGEST_MEMBER", 1000)
    images = find_images(make_zip(tmp_path / "one.zip", {"big.png": bytes(50_000), "a.png": png()}), tmp_path / "cache")
    assert images.skipped["big.png"] == "too large (limit 1 kB)"


def test_a_header_that_asks_for_memory_is_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("long")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 60_000_000
    with gzip.open(tmp_path / "names.tar.gz", "wb", compresslevel=1) as packed:
        packed.write(info.tobuf())
        packed.write(bytes(60_000_000))
    with pytest.raises(UserError, match=r"names\.tar\.gz' is damaged or no archive"):
        find_images(tmp_path / "names.tar.gz", tmp_path / "cache")


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz"])
def test_what_is_no_archive_is_said(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x1f\x8b" + b"no archive at all" * 100)
    with pytest.raises(UserError, match="is damaged or no archive"):
        find_images(tmp_path / name, tmp_path / "cache")
    make_zip(tmp_path / "empty.zip", {"a.txt": b"x", "inner.zip": b"x"})
    with pytest.raises(UserError, match="no images"):
        find_images(tmp_path / "empty.zip", tmp_path / "cache")


def test_webdataset_shards_bring_their_labels(tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    for shard in range(2):
        pictures = {f"{row:03d}.png": png(row) for row in range(3)}
        labels = {f"{row:03d}.cls": str(row).encode() for row in range(3)}
        make_tar(tmp_path / "shards" / f"s{shard}.tar", pictures | labels)
    images = find_images(tmp_path / "shards", tmp_path / "cache")
    assert images.names == tuple(f"s{shard}/{row:03d}.png" for shard in range(2) for row in range(3))
    collection, truth = from_sidecars(images)
    assert (collection.known, collection.labels.tolist()) == (("0", "1", "2"), [0, 1, 2, 0, 1, 2])
    collection, truth = from_sidecars(images, ["0", "1"], share=0.5)
    assert (collection.n_known, int(collection.labelled.sum()), truth.n_classes(collection)) == (2, 2, 3)
    assert images_and_labels(images.root, "cls")[1] == ["0", "1", "2"] * (len(images) // 3)
    with pytest.raises(UserError, match=r"no \.cls file says 'x'"):
        from_sidecars(images, ["x"])


def test_one_image_file_is_a_list_of_one(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    assert len(as_images(tmp_path / "a.png")) == 1


def test_pruning_takes_what_changed_and_never_the_only_copy(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for name in ("kept", "changed", "gone"):
        find_images(make_zip(tmp_path / f"{name}.zip", {"a.png": png()}), cache)
    make_zip(tmp_path / "changed.zip", {"other.png": png(9)})
    (tmp_path / "gone.zip").unlink()
    removed = prune(cache)
    assert [Path(thing.source).name for thing in removed] == ["changed.zip"]
    assert {Path(thing.source).name: thing.state for thing in kept_things(cache)} == {
        "kept.zip": "up to date",
        "gone.zip": "the archive is gone: this is the only copy",
    }
