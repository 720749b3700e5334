"""Images at URLs: what is found, read and remembered of them, and what is said where nothing reads a URL."""

import io
import sys
import tarfile
from pathlib import Path

import fsspec
import pytest

from legogcd.collection import ImageObjects, as_images, find_images, from_sidecars, images_at, object_store, read_labels
from legogcd.errors import UnreadableImage, UserError


@pytest.fixture
def bucket(pictures: Path) -> str:
    """The pictures in a store that is no disk."""
    store = fsspec.filesystem("memory")
    store.store.clear()
    for path in sorted(pictures.rglob("*.png")):
        store.pipe(f"/bucket/photos/{path.relative_to(pictures).as_posix()}", path.read_bytes())
    store.pipe("/bucket/photos/notes.txt", b"mine")
    store.pipe("/bucket/photos/.hidden/a.png", b"mine")
    return "memory://bucket/photos"


def test_what_is_at_a_url_is_what_is_in_the_folder(bucket: str, pictures: Path) -> None:
    there, here = images_at(Path(bucket)), find_images(pictures)
    assert isinstance(there, ImageObjects)
    assert there.root == bucket
    assert there.names == here.names
    assert [there.item(row) for row in range(3)] == [here.item(row).read_bytes() for row in range(3)]
    assert there.skipped == {"notes.txt": "not an image", ".hidden/a.png": "hidden"}
    one = as_images(f"{bucket}/blue/00.png")
    assert one.names == ("00.png",)
    assert one.item(0) == here.item(0).read_bytes()


def test_a_changed_object_is_known_for_another(bucket: str) -> None:
    before = images_at(bucket)
    assert before.fingerprint() == images_at(bucket).fingerprint()
    assert before.subset([0, 2]).fingerprint() != before.subset([0, 1]).fingerprint()
    fsspec.filesystem("memory").pipe("/bucket/photos/blue/00.png", b"other")
    assert images_at(bucket).fingerprint() != before.fingerprint()
    assert images_at(bucket).fingerprint(content=True) != before.subset(range(1, 32)).fingerprint(content=True)


def test_what_is_gone_or_too_large_is_unreadable(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    images = images_at(bucket)
    assert isinstance(images, ImageObjects)
    fsspec.filesystem("memory").rm("/bucket/photos/blue/00.png")
    with pytest.raises(UnreadableImage, match="file not found"):
        images.item(0)
    with pytest.raises(UnreadableImage, match="file not found"):
        images.named(("blue/01.png", "blue/new.png")).item(1)
    monkeypatch.setattr(object_store, "LARGEST_MEMBER", 10)
    with pytest.raises(UnreadableImage, match="too large"):
        images.item(1)


def test_labels_may_name_the_url(bucket: str, tmp_path: Path) -> None:
    table = tmp_path / "labels.csv"
    table.write_text(f"path,label\nblue/00.png,sea\n{bucket}/red/01.png,fire\n")
    assert read_labels(table, images_at(bucket)) == {"blue/00.png": "sea", "red/01.png": "fire"}
    table.write_text("path,label\nblue/99.png,sea\n")
    with pytest.raises(UserError, match=r"1 image not there: 'blue/99.png'; paths are relative to 'memory:"):
        read_labels(table, images_at(bucket))


def pack(tar: Path, members: dict[str, bytes]) -> None:
    with tarfile.open(tar, "w") as packed:
        for name, content in members.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            packed.addfile(about, io.BytesIO(content))


def test_tars_are_read_where_they_are(pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shards = tmp_path / "shards"
    shards.mkdir()
    for number, color in enumerate(("blue", "red")):
        members = {}
        for path in sorted((pictures / color).iterdir())[:4]:
            members |= {f"{path.stem}.png": path.read_bytes(), f"{path.stem}.cls": f"{color}\n".encode()}
        pack(shards / f"{number:04d}.tar", {**members, "../out.png": b"no", "notes.txt": b"mine"})
    url = f"file://{shards}"
    found = images_at(Path(url), tmp_path / "cache")
    assert isinstance(found, ImageObjects)
    assert found.names == tuple(f"{number:04d}/{name:02d}.png" for number in range(2) for name in range(4))
    assert found.item(5) == (pictures / "red" / "01.png").read_bytes()
    assert found.skipped["0000/../out.png"] == "leads out of the archive"
    collection, truth = from_sidecars(found)
    assert collection.known == ("blue", "red")
    assert len(truth.labels) == 8
    monkeypatch.setattr(object_store, "_indexed", lambda *_: 1 / 0)  # once is enough
    assert images_at(url, tmp_path / "cache").names == found.names
    assert images_at(f"{url}/0001.tar", tmp_path / "cache").names == tuple(f"{name:02d}.png" for name in range(4))
    monkeypatch.undo()
    (shards / "0000.tar").write_bytes(b"no tar" * 200)
    with pytest.raises(UserError, match="damaged or no tar file"):
        images_at(url, tmp_path / "cache")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("s3://bucket/photos", "s3:// needs a package that is not installed: pip install 'legogcd[s3]'"),
        ("nowhere://bucket", "Protocol not known: nowhere"),
        ("memory://empty/photos", "there is nothing at memory://empty/photos"),
    ],
)
def test_what_cannot_be_listed_is_one_line(run_cli, tmp_path: Path, monkeypatch, url: str, said: str) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "s3", raising=False)
    done = run_cli("encode", url, "--cache", tmp_path / "cache")
    assert done.exit_code == 2
    assert said in done.stderr.splitlines()[-1]


def test_a_run_on_a_url_is_the_run_on_the_folder(bucket: str, pictures: Path, tiny_vit: Path, tmp_path: Path, run_cli):
    options = ["--labels", "folders", "--known", "blue,green", "--backbone", tiny_vit, "--image-size", 32, "--views", 2]
    options += ["--epochs", 2, "--set", "batch_size=16", "--set", "projector_hidden=16", "--cache", tmp_path / "cache"]
    for name, place in (("there", bucket), ("here", pictures)):
        done = run_cli("discover", place, "--out", tmp_path / name, "--no-report", *options)
        assert done.exit_code == 0, done.stderr
        done = run_cli("predict", tmp_path / name, place, "--out", tmp_path / f"{name}.csv")
        assert done.exit_code == 0, done.stderr
    for file in ("predictions.csv", "model.safetensors"):
        assert (tmp_path / "there" / file).read_bytes() == (tmp_path / "here" / file).read_bytes()
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()
    assert run_cli("report", tmp_path / "there", "--cache", tmp_path / "cache").exit_code == 0
    refused = run_cli("export", tmp_path / "there", "--to", "folders", "--out", tmp_path / "sorted")
    assert refused.exit_code == 2
    assert "memory://bucket/photos" in refused.stderr
