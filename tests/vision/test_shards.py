"""Shards of kept views: made in any order by anybody, whole or not there, and never used when damaged."""

import errno
import fcntl
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from example_pictures import write_pictures

from legogcd.collection import find_images
from legogcd.display import Quiet
from legogcd.errors import UserError
from legogcd.vision import Encoder, KeptViews, ViewRequest, check_kept, encode_missing, find_kept, load_backbone
from legogcd.vision.views import request as request_module
from legogcd.vision.views import shards as shards_module
from legogcd.vision.views import store as store_module
from legogcd.vision.views.kept import DamagedViews
from legogcd.vision.views.opening import ViewStorage, open_views
from legogcd.vision.views.rows import Rows
from legogcd.vision.views.sealed import MANIFEST, write_sealed
from legogcd.vision.views.shards import Layout, writing
from legogcd.vision.views.store import complete_kept, encode_shard, missing_shards
from legogcd.vision.views.tensor_format import StoredTensor

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def four_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of eight images, batches of four."""
    monkeypatch.setattr(request_module, "BATCH_VIEWS", 12)
    monkeypatch.setattr(shards_module, "SHARD_IMAGES", 8)


@pytest.fixture(params=["efficientnet-lite0", "vit"])
def request_(request: pytest.FixtureRequest, tiny_vit: Path, pictures: Path) -> ViewRequest:
    """Two views of 32 images, four shards of them, with the default backbone and with a state of two tensors."""
    name = str(tiny_vit) if request.param == "vit" else request.param
    (pictures / "red" / "03.png").write_bytes(b"broken")
    return ViewRequest(Encoder(load_backbone(name, image_size=32), CPU, "fp32"), find_images(pictures), views=2)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def states(kept: KeptViews) -> list[torch.Tensor]:
    """Everything that can be read."""
    rows = torch.arange(kept.n_images)
    parts = [part for slot in range(3) for part in kept.states(rows, torch.full_like(rows, slot))]
    return [part.dense() if isinstance(part, Rows) else part for part in parts]


def encoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of the shards that are encoded from now on."""
    numbers: list[int] = []
    plain = store_module.encode_shard

    def counted(request: ViewRequest, folder: Path, shard: shards_module.Shard, *others: object) -> None:
        numbers.append(shard.number)
        plain(request, folder, shard, *others)

    monkeypatch.setattr(store_module, "encode_shard", counted)
    return numbers


class Heard(Quiet):
    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        self.warnings.append(text)


def test_shards_made_in_any_order_are_the_same_bytes(request_: ViewRequest, tmp_path: Path) -> None:
    whole = encode_missing(request_, tmp_path / "whole")
    assert len(request_.shards()) == 4
    for order in ([3, 2, 1, 0], [2, 0, 3, 1]):
        folder = request_.folder(tmp_path / str(order))
        folder.mkdir(parents=True)
        for number in order:
            assert number in [shard.number for shard in missing_shards(request_, folder)]
            encode_shard(request_, folder, request_.shards()[number])
        assert missing_shards(request_, folder) == []
        assert find_kept(request_, tmp_path / str(order)) is None  # nobody has looked whether it is whole
        complete_kept(request_, tmp_path / str(order))
        assert content(folder) == content(whole.folder)


def test_how_images_are_cut_into_shards_changes_no_bit(
    request_: ViewRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = states(encode_missing(request_, tmp_path / "eight"))
    for images, size in ((4, 1 << 40), (2048, 1 << 40), (2048, 1)):
        monkeypatch.setattr(shards_module, "SHARD_IMAGES", images)
        monkeypatch.setattr(shards_module, "SHARD_BYTES", size)
        kept = encode_missing(request_.with_views(request_.views), tmp_path / f"{images}-{size}")  # laid out anew
        assert len(kept.layout.shards()) == (1 if size > 1 and images == 2048 else 8)
        assert all(torch.equal(one, other) for one, other in zip(states(kept), expected, strict=True))
        assert list(kept.unreadable) == [request_.images.names.index("red/03.png")]


class Killed(BaseException):
    """The process is gone: nothing it would do afterwards is done."""


def kill_at(monkeypatch: pytest.MonkeyPatch, moment: int) -> list[str]:
    """Die before the given file operation; returns what was done before."""
    done: list[str] = []

    def deadly(name: str, plain: Callable[..., object]) -> Callable[..., object]:
        def operation(*given: object, **named: object) -> object:
            if len(done) >= moment:
                raise Killed
            done.append(name)
            return plain(*given, **named)

        return operation

    for name in ("fsync", "replace", "unlink", "ftruncate"):
        monkeypatch.setattr(os, name, deadly(name, getattr(os, name)))
    return done


def test_killed_at_any_file_operation_it_completes_to_the_same_bytes(
    request_: ViewRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request_ = ViewRequest(request_.encoder, request_.images.subset(range(16, 28)), views=2)  # two shards
    whole = content(encode_missing(request_, tmp_path / "whole").folder)
    moments = 0
    for moment in range(1000):
        cache = tmp_path / str(moment)
        with monkeypatch.context() as patch:
            done = kill_at(patch, moment)
            try:
                encode_missing(request_, cache)
                break
            except Killed:
                moments += 1
        made = [shard for shard in request_.shards() if shard not in missing_shards(request_, request_.folder(cache))]
        with monkeypatch.context() as patch:
            numbers = encoded(patch)
            kept = encode_missing(request_, cache)
            assert not set(numbers) & {shard.number for shard in made}  # a finished shard is never made twice
        assert content(kept.folder) == whole, done  # no temporary file and no lock is left either
        shutil.rmtree(cache)
    assert moments > 20


ENCODE = """
import os, signal, sys, time
from pathlib import Path
import torch
from legogcd.collection import find_images
from legogcd.vision import Encoder, ViewRequest, encode_missing, load_backbone
from legogcd.vision.views import request, shards, store
request.BATCH_VIEWS, shards.SHARD_IMAGES = 12, 8
torch.set_num_threads(1)
encoder = Encoder(load_backbone(sys.argv[1], image_size=32), torch.device("cpu"), "fp32")
wanted = ViewRequest(encoder, find_images(sys.argv[2]), views=2)
plain = store.encode_shard
def counted(given, folder, shard, *others):
    print(shard.number, flush=True)
    plain(given, folder, shard, *others)
store.encode_shard = counted
wanted.key
print("ready", flush=True)
sys.stdin.readline()
encode_missing(wanted, Path(sys.argv[3]))
"""


def encoding(name: str, pictures: Path, cache: Path) -> subprocess.Popen[str]:
    """Another process, ready to encode at the first line it gets."""
    command = [sys.executable, "-c", ENCODE, name, str(pictures), str(cache)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def go(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    child.stdin.write("go\n")
    child.stdin.flush()


@pytest.fixture
def many(tmp_path: Path) -> Path:
    return write_pictures(tmp_path / "many", per_class=40)


def alone(pictures: Path, cache: Path) -> dict[str, bytes]:
    encoder = Encoder(load_backbone("efficientnet-lite0", image_size=32), CPU, "fp32")
    return content(encode_missing(ViewRequest(encoder, find_images(pictures), views=2), cache).folder)


def test_two_processes_share_the_work(many: Path, tmp_path: Path) -> None:
    children = [encoding("efficientnet-lite0", many, tmp_path / "cache") for _ in range(2)]
    for child in children:
        go(child)
    numbers = [int(line) for child in children for line in child.communicate(timeout=120)[0].split()]
    assert [child.returncode for child in children] == [0, 0]
    assert sorted(numbers) == list(range(20))  # each shard once
    (folder,) = (tmp_path / "cache").iterdir()
    assert content(folder) == alone(many, tmp_path / "alone")


def test_after_a_kill_another_process_goes_on(many: Path, tmp_path: Path) -> None:
    child = encoding("efficientnet-lite0", many, tmp_path / "cache")
    go(child)
    assert child.stdout is not None
    for _ in range(random.randint(2, 12)):
        begun = int(child.stdout.readline())
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    other = encoding("efficientnet-lite0", many, tmp_path / "cache")
    go(other)
    numbers = [int(line) for line in other.communicate(timeout=120)[0].split()]
    assert min(numbers) >= begun  # what was finished is not made again
    (folder,) = (tmp_path / "cache").iterdir()
    assert content(folder) == alone(many, tmp_path / "alone")


def test_without_locks_the_work_is_done_all_the_same(
    request_: ViewRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert KeptViews(encode_missing(request_, tmp_path).folder).n_images == 32


def test_every_flipped_byte_of_a_shard_is_found(request_: ViewRequest, tmp_path: Path) -> None:
    kept = encode_missing(request_, tmp_path)
    assert check_kept(kept.folder) == []
    for name in ("00001.bin", "00003.json"):
        path = kept.folder / name
        good = path.read_bytes()
        step = 1 if name.endswith("json") else 37
        for place in range(0, len(good), step):
            damaged = bytearray(good)
            damaged[place] ^= 1 << random.randrange(8)
            path.write_bytes(damaged)
            assert [shard.number for shard in check_kept(kept.folder)] == [int(name[:5])], (name, place)
        path.write_bytes(good)
    assert check_kept(kept.folder) == []


def test_every_flipped_byte_of_the_manifest_is_found(request_: ViewRequest, tmp_path: Path) -> None:
    path = encode_missing(request_, tmp_path).folder / MANIFEST
    good = path.read_bytes()
    for place in range(len(good)):
        damaged = bytearray(good)
        damaged[place] ^= 1 << random.randrange(8)
        path.write_bytes(damaged)
        with pytest.raises(DamagedViews, match="damaged"):
            KeptViews(path.parent)
        with pytest.raises(DamagedViews):
            check_kept(path.parent)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def zeroed(path: Path) -> None:
    """50 kB, or all there is of a small file."""
    size = min(50_000, path.stat().st_size)
    with open(path, "rb+") as file:
        file.write(bytes(size))


def replaced(path: Path) -> None:
    shutil.copy(path.with_name("00000.bin"), path)


DAMAGE: dict[str, tuple[str, Callable[[Path], object]]] = {
    "cut": ("00002.bin", cut),
    "grown": ("00002.bin", lambda path: path.write_bytes(path.read_bytes() + b"0")),
    "zeroed": ("00002.bin", zeroed),
    "of another shard": ("00002.bin", replaced),
    "lost": ("00002.bin", Path.unlink),
    "record lost": ("00002.json", Path.unlink),
    "record cut": ("00002.json", cut),
    "record empty": ("00002.json", lambda path: path.write_bytes(b"")),
    "record of another": ("00002.json", lambda path: shutil.copy(path.with_name("00000.json"), path)),
    "manifest empty": (MANIFEST, lambda path: path.write_bytes(b"")),
    "manifest cut": (MANIFEST, lambda path: os.truncate(path, 40)),
    "manifest a list": (MANIFEST, lambda path: path.write_text("[]")),
    "manifest nested": (MANIFEST, lambda path: path.write_text("[" * 100_000)),
    "manifest not text": (MANIFEST, lambda path: path.write_bytes(b"\xff\xfe\x00")),
    "manifest of others": (MANIFEST, lambda path: write_sealed(path, {"views": 2})),
    "manifest of older form": (MANIFEST, lambda path: path.write_text(json.dumps({"n_images": 32, "views": 2}))),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_found_on_opening_said_and_mended(
    request_: ViewRequest, tmp_path: Path, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = encode_missing(request_, tmp_path)
    good = content(kept.folder)
    name, do = DAMAGE[damage]
    do(kept.folder / name)
    with pytest.raises(DamagedViews):
        KeptViews(kept.folder)
    numbers, display = encoded(monkeypatch), Heard()
    opened = open_views(request_.encoder, request_.images, ViewStorage(2, cache=tmp_path), display)
    assert numbers == ([] if name == MANIFEST else [2])  # and nothing else
    assert content(kept.folder) == good
    assert any(str(kept.folder) in warning for warning in display.warnings), display.warnings
    assert isinstance(opened.source, KeptViews)
    assert KeptViews(kept.folder).unreadable == kept.unreadable


def test_after_a_crash_everything_is_looked_at(
    request_: ViewRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Left incomplete, with damage no sample was asked about: sizes are right and the folder was never opened."""
    kept = encode_missing(request_, tmp_path)
    good = content(kept.folder)
    (kept.folder / MANIFEST).unlink()
    (kept.folder / "00003.json").unlink()
    with open(kept.folder / "00001.bin", "rb+") as file:
        file.seek(777)
        file.write(b"\x55")
    numbers, said = encoded(monkeypatch), []
    encode_missing(request_, tmp_path, warn=said.append)
    assert numbers == [1, 3]
    assert content(kept.folder) == good
    assert len(said) == 1
    assert "00001.bin" in said[0]


def test_damage_among_more_views_than_wanted_is_mended_there(
    request_: ViewRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = encode_missing(request_.with_views(5), tmp_path)
    good = content(more.folder)
    cut(more.folder / "00001.bin")
    numbers = encoded(monkeypatch)
    kept = encode_missing(request_, tmp_path)
    assert (kept.folder, kept.n_views, numbers) == (more.folder, 2, [1])
    assert content(more.folder) == good


def test_a_large_folder_is_looked_at_in_a_few_places(
    request_: ViewRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One image of each shard, another one each time: damage is found sooner or later, and nobody's draws change."""
    from legogcd.vision.views import kept as kept_module

    kept = encode_missing(request_, tmp_path)
    monkeypatch.setattr(kept_module, "CHECKED_BYTES", 0)
    looked: list[int] = []
    plain = kept_module.check_images

    def counted(*given: object) -> None:
        looked.extend(given[-1])
        plain(*given)

    monkeypatch.setattr(kept_module, "check_images", counted)
    before = np.random.get_state()[1].tobytes(), torch.get_rng_state()
    for _ in range(30):
        KeptViews(kept.folder)
    assert len(looked) == 30 * 4
    assert set(looked) == set(range(8))
    assert before[0] == np.random.get_state()[1].tobytes()
    assert torch.equal(before[1], torch.get_rng_state())
    with open(kept.folder / "00001.bin", "rb+") as file:
        file.write(bytes(64))
    looks = (KeptViews(kept.folder) for _ in range(200))
    with pytest.raises(DamagedViews, match="00001"):
        list(looks)


def test_folders_of_the_older_form_are_left_alone(request_: ViewRequest, tmp_path: Path) -> None:
    old = tmp_path / "views-0123456789abcdef0123"
    old.mkdir()
    (old / MANIFEST).write_text(json.dumps({"format": 2, "n_images": 32, "views": 2, "unreadable": {}, "tensors": []}))
    (old / "tokens.bin").write_bytes(b"old")
    (tmp_path / "views-0123456789abcdef0123.lock").touch()
    before = content(old)
    kept = encode_missing(request_, tmp_path)
    assert kept.folder != old
    assert content(old) == before
    with pytest.raises(DamagedViews):
        KeptViews(old)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_state_that_is_no_number_names_its_image(
    request_: ViewRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: float
) -> None:
    row, trunk = 13, request_.encoder.trunk
    crop = ViewRequest.crop

    def marked(self: ViewRequest, number: int, image: np.ndarray) -> np.ndarray:
        return np.zeros_like(crop(self, number, image)) if number == row else crop(self, number, image)

    def broken(views: np.ndarray) -> tuple[torch.Tensor, ...]:
        state = trunk(views)
        for place in np.flatnonzero(~views.any(axis=(1, 2, 3))):
            state[-1][int(place)].view(-1)[-1] = value
        return state

    _ = request_.tensors
    monkeypatch.setattr(ViewRequest, "crop", marked)
    monkeypatch.setattr(request_.encoder, "trunk", broken)
    with pytest.raises(UserError, match=f"^{request_.images.names[row]}: the backbone's .* has NaN"):
        encode_missing(request_, tmp_path)
    assert find_kept(request_, tmp_path) is None


def test_numbers_too_large_for_half_precision_name_their_image(
    request_: ViewRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trunk = request_.encoder.trunk
    monkeypatch.setattr(request_.encoder, "trunk", lambda views: tuple(1e6 + part for part in trunk(views)))
    half = ViewRequest(request_.encoder, request_.images, views=2, dtype="fp16")
    with pytest.raises(UserError, match="too large for fp16"):
        encode_missing(half, tmp_path)


def test_progress_counts_images_and_what_was_there(request_: ViewRequest, tmp_path: Path) -> None:
    folder = request_.folder(tmp_path)
    folder.mkdir()
    encode_shard(request_, folder, request_.shards()[2])
    heard: list[int] = []
    encode_missing(request_, tmp_path, heard.append)
    assert heard[0] == 8
    assert heard[-1] == 32
    assert heard == sorted(heard)
    assert len(heard) > 6


def test_what_an_interrupted_start_left_needs_no_more_disk(
    request_: ViewRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of what is free would otherwise shrink below what is missing, and the run would end with other views."""
    folder = request_.folder(tmp_path)
    folder.mkdir()
    for shard in request_.shards()[:3]:
        encode_shard(request_, folder, shard)
    monkeypatch.setattr(ViewStorage, "budget", lambda self: request_.size_on_disk // 3)
    display = Heard()
    opened = open_views(request_.encoder, request_.images, ViewStorage(2, cache=tmp_path), display)
    assert isinstance(opened.source, KeptViews)
    assert display.warnings == []


@pytest.fixture
def few_open_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(200, before[0]), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("few_open_files")
def test_more_shards_than_files_may_be_open(tmp_path: Path) -> None:
    layout = Layout((StoredTensor("map", (1, 1, 4), "int8"),), held=3, n_images=250, shard_images=1)
    for shard in layout.shards():
        with writing(tmp_path, layout, shard) as writer:
            writer.add([shard.begin], (torch.full((3, 1, 1, 4), float(shard.number)),))
    write_sealed(tmp_path / MANIFEST, layout.described())
    (part,) = KeptViews(tmp_path).evaluation(torch.tensor([249, 0, 17]))
    torch.testing.assert_close(part.dense()[:, 0, 0, 0], torch.tensor([249.0, 0.0, 17.0]))
