"""Downloads from a server on this machine: whole, resumed, broken, wrong."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from dataset_trees import packed_bytes, record

from legogcd.display import Quiet
from legogcd.errors import UserError
from legogcd.paper.datasets import DATASETS, Archive, PaperDataset
from legogcd.paper.datasets.download import download

NOISE = [hashlib.shake_256(bytes([i])).digest(3072) for i in range(6)]  # does not compress: there is room to break off
FILES = {f"cifar-10-batches-bin/data_batch_{i}.bin": record([i]) + b"\0" + NOISE[i] for i in range(1, 6)}
CONTENT = packed_bytes(FILES | {"cifar-10-batches-bin/test_batch.bin": record([7])})


class Server:
    """Serves CONTENT; ``limit`` bytes at most an answer, ranges where ``ranges`` is true; keeps what was asked."""

    def __init__(self) -> None:
        self.limit, self.ranges, self.status = len(CONTENT), True, 200
        self.asked: list[str | None] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                wanted = self.headers.get("Range")
                server.asked.append(wanted)
                start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and server.ranges else 0
                if server.status != 200 or start >= len(CONTENT):
                    self.send_error(server.status if server.status != 200 else 416)
                    return
                self.send_response(206 if start else 200)
                if start:
                    self.send_header("Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
                self.send_header("Content-Length", str(len(CONTENT) - start))
                self.end_headers()
                self.wfile.write(CONTENT[start : start + server.limit])

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/cifar-10-binary.tar.gz"


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.http.shutdown()
        server.http.server_close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving() as running:
        yield running


def tiny(server: Server, md5: str | None = None) -> PaperDataset:
    """CIFAR-10 with a small archive on our server."""
    checksum = md5 or hashlib.md5(CONTENT).hexdigest()
    return replace(DATASETS["cifar10"], archive=Archive(server.url, "cifar-10-binary.tar.gz", checksum))


def test_a_download_is_checked_unpacked_and_not_repeated(server: Server, tmp_path: Path) -> None:
    dataset = tiny(server)
    home = download(dataset, tmp_path / "data", Quiet())
    assert home == tmp_path / "data/cifar-10-batches-bin"
    assert dataset.load(home, "train").classes.tolist() == [1, 0, 2, 0, 3, 0, 4, 0, 5, 0]
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == [
        "cifar-10-batches-bin",
        "cifar-10-binary.tar.gz",
    ]
    assert download(dataset, tmp_path / "data", Quiet()) == home
    assert server.asked == [None]


def test_a_broken_connection_goes_on_where_it_stopped(server: Server, tmp_path: Path) -> None:
    server.limit = 5000
    with pytest.raises(UserError, match=r"cannot fetch .*the same command goes on") as raised:
        download(tiny(server), tmp_path, Quiet())
    assert "\n" not in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["cifar-10-binary.tar.gz.part"]
    server.limit = len(CONTENT)
    assert download(tiny(server), tmp_path, Quiet()).is_dir()
    assert server.asked == [None, "bytes=5000-"]
    assert not list(tmp_path.glob("*.part"))


def test_a_server_without_ranges_starts_over(server: Server, tmp_path: Path) -> None:
    server.ranges = False
    (tmp_path / "cifar-10-binary.tar.gz.part").write_bytes(b"something old")
    assert download(tiny(server), tmp_path, Quiet()).is_dir()
    assert server.asked == ["bytes=13-"]


def test_a_whole_part_needs_nothing_more_and_a_wrong_one_is_thrown_away(server: Server, tmp_path: Path) -> None:
    part = tmp_path / "cifar-10-binary.tar.gz.part"
    part.write_bytes(CONTENT[:-1] + b"x")
    with pytest.raises(UserError, match="does not have the published checksum"):
        download(tiny(server), tmp_path, Quiet())
    assert list(tmp_path.iterdir()) == []
    part.write_bytes(CONTENT)
    assert download(tiny(server), tmp_path, Quiet()).is_dir()


def test_an_archive_that_is_there_is_only_checked_and_unpacked(server: Server, tmp_path: Path) -> None:
    (tmp_path / "cifar-10-binary.tar.gz").write_bytes(CONTENT)
    assert download(tiny(server), tmp_path, Quiet()).name == "cifar-10-batches-bin"
    assert server.asked == []


def test_another_file_than_the_published_one_is_refused(server: Server, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not have the published checksum"):
        download(tiny(server, md5="0" * 32), tmp_path, Quiet())
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_refuses_or_is_gone_is_one_clear_line(server: Server, tmp_path: Path) -> None:
    server.status = 404
    with pytest.raises(UserError, match=r"cannot fetch http://127.*: Not Found"):
        download(tiny(server), tmp_path, Quiet())
    dead = replace(DATASETS["cifar10"], archive=Archive("http://127.0.0.1:9/x.tar.gz", "x.tar.gz", "0" * 32))
    with pytest.raises(UserError, match=r"cannot fetch http://127.0.0.1:9/x.tar.gz: .*refused"):
        download(dead, tmp_path, Quiet())


@pytest.mark.parametrize("name", ["stanford_cars", "herbarium_19", "imagenet100", "imagenet1k"])
def test_the_others_are_told_where_to_get(run_cli, tmp_path: Path, name: str) -> None:
    done = run_cli("datasets", "download", name, "--root", tmp_path)
    assert done.exit_code == 2
    assert " ".join(DATASETS[name].source.split()) in done.stderr
    assert done.stderr.startswith("legogcd: ")


def test_the_command_shows_progress_and_the_terms(run_cli, server: Server, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(DATASETS, "cifar10", tiny(server))
    done = run_cli("datasets", "download", "cifar10", "--root", tmp_path)
    assert done.exit_code == 0, done.stderr
    assert "cifar-10-binary.tar.gz (MB): 0 of 1" in done.stderr
    assert f"CIFAR-10 is in {tmp_path / 'cifar-10-batches-bin'}; terms: " in done.stdout


def test_official_archives_come_from_official_hosts_over_https() -> None:
    archives = {name: dataset.archive for name, dataset in DATASETS.items() if dataset.archive is not None}
    assert set(archives) == {"cifar10", "cifar100", "cub", "fgvc_aircraft"}
    hosts = ("https://www.cs.toronto.edu/", "https://data.caltech.edu/", "https://www.robots.ox.ac.uk/")
    for archive in archives.values():
        assert archive.url.startswith(hosts)
        assert archive.file in archive.url
        assert len(archive.md5) == 32
