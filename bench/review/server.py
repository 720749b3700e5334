"""What the review server costs: ``python -m bench.review.server [--images 100000]``; one table, on this machine.

A run of so many images is made up: copies of a few pictures under different names, features around as many centers as
there are groups. Nothing is trained. The server is a process of its own, as `legogcd review` starts it; times are taken
by a client on the same machine.
"""

import argparse
import http.client
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from PIL import Image

from legogcd.review.cells import nearest_neighbors
from legogcd.review.kept import BELIEF, FINDINGS, LIKENESS, MAP, NEIGHBORS, VOTES, Kept
from legogcd.review.ordering import mean_step, order_by_likeness
from legogcd.review.prepare import REDUCED
from legogcd.run.config import ImagesRecord, RunConfig, write_config
from legogcd.run.discovery import Discovery, write_predictions
from legogcd.run.options import RunOptions

PICTURES = 200  # different ones; every image is a link to one of them
SIDE = 512


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.review.server", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--images", type=int, default=100_000)
    parser.add_argument("--groups", type=int, default=200)
    parser.add_argument("--work", type=Path, help="folder for the made-up run; default: one that is removed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        if not (work / "run").exists():
            make_run(work, options.images, options.groups)
        for line in measure(work):
            print(line, flush=True)


def make_run(work: Path, n: int, groups: int) -> None:
    """Pictures, predictions.csv, config.json, and the pieces that a server keeps in its cache."""
    random = np.random.default_rng(0)
    (work / "pictures").mkdir(parents=True)
    for number in range(PICTURES):
        blocks = random.integers(0, 256, (16, 16, 3)).astype(np.uint8)
        Image.fromarray(blocks).resize((SIDE, SIDE), Image.Resampling.BICUBIC).save(work / f"{number}.jpg", quality=85)
    names = [f"{row // 1000:04d}/{row:07d}.jpg" for row in range(n)]
    for row, name in enumerate(names):
        path = work / "pictures" / name
        path.parent.mkdir(exist_ok=True)
        path.hardlink_to(work / f"{row % PICTURES}.jpg")
    group = np.sort(random.integers(0, groups, n))
    known = tuple(f"class {number:03d}" for number in range(groups // 2))
    confidence = random.uniform(0.3, 1, n)
    labels = np.where((group < len(known)) & (random.random(n) < 0.3), group, -1)
    (work / "run").mkdir()
    write_predictions(work / "run", Discovery(tuple(names), labels, group, confidence, known, groups))
    record = ImagesRecord(root=str(work / "pictures"), count=n, labelled=int((labels >= 0).sum()))
    options = RunOptions(n_classes=groups)
    write_config(
        work / "run",
        RunConfig(
            options=options, method="legogcd", recipe={}, weights="0", known=known, images=record, name="made up"
        ),
    )
    keep_pieces(Kept(work / "run", work / "cache"), group, confidence)


def keep_pieces(kept: Kept, group: np.ndarray, confidence: np.ndarray) -> None:
    random, n, groups = np.random.default_rng(1), len(group), int(group.max()) + 1
    points = random.normal(size=(groups, REDUCED))[group] + random.normal(size=(n, REDUCED))
    points = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    kept.save(LIKENESS, {"reduced": points}, {"unreadable": {}})
    belief = np.full((n, groups), 0.0, np.float16)
    belief[np.arange(n), group] = confidence
    kept.save(BELIEF, {"belief": belief})
    began = time.perf_counter()
    near = nearest_neighbors(points, 20)
    print(f"| neighbors of all images, computed once in the background | {time.perf_counter() - began:.1f} s |")
    alike = np.zeros(near.shape, np.float32)
    for start in range(0, n, 512):
        part = slice(start, start + 512)
        alike[part] = np.clip(np.einsum("nd,nkd->nk", points[part], points[near[part]]), 0, 1)
    kept.save(NEIGHBORS, {"rows": near.astype(np.int32), "alike": alike})
    kept.save(FINDINGS, {}, {"found": [], "edits": 0})
    kept.save(MAP, {"points": random.uniform(-1, 1, (n, 2)).astype(np.float32)})
    classes = random.integers(0, 1000, (n, 5)).astype(np.int32)
    vocabulary = [f"word {number}" for number in range(1000)]
    kept.save(
        VOTES,
        {"classes": classes, "weights": np.full((n, 5), 0.2, np.float32)},
        {"vocabulary": vocabulary, "source": "x"},
    )


class Client:
    """A browser's requests over one connection."""

    def __init__(self, address: str, cookie: str = "") -> None:
        self.host, _, query = address.removeprefix("http://").partition("/?")
        self.address, self.cookie = address, cookie
        self.connection = http.client.HTTPConnection(self.host, timeout=120)
        if not cookie:
            self.cookie = self._ask("GET", f"/?{query}")[1].partition(";")[0]

    def get(self, path: str) -> bytes:
        return self._ask("GET", path)[0]

    def post(self, path: str, body: dict[str, Any]) -> Any:
        return json.loads(self._ask("POST", path, json.dumps(body))[0])

    def _ask(self, method: str, path: str, body: str | None = None) -> tuple[bytes, str]:
        headers = {"origin": f"http://{self.host}", "content-type": "application/json", "cookie": self.cookie}
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        content = answer.read()
        if answer.status >= 400:
            raise RuntimeError(f"{path}: {answer.status} {content[:200]!r}")
        return content, answer.getheader("set-cookie") or ""


def measure(work: Path) -> Iterator[str]:
    for leftover in (work / "run").glob("edits.jsonl*"):
        leftover.unlink()
    code = "from legogcd.cli import main; main()"
    words = ["review", str(work / "run"), "--images", str(work / "pictures"), "--cache", str(work / "cache")]
    began = time.perf_counter()
    server = subprocess.Popen([sys.executable, "-c", code, *words, "--no-browser"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        found = re.search(r"http://\S+", server.stdout.readline())
        assert found is not None
        client = _connected(found[0])
        yield f"| from the command to the first answer | {time.perf_counter() - began:.2f} s |"
        yield from _answers(client, server.pid)
    finally:
        server.kill()
        server.wait()
    yield from _orders(work)


def _connected(address: str) -> Client:
    while True:
        try:
            return Client(address)
        except ConnectionRefusedError:
            time.sleep(0.01)


def _answers(client: Client, pid: int) -> Iterator[str]:
    began = time.perf_counter()
    state = json.loads(client.get("/api/state"))
    yield f"| first /api/state of {state['images']} images in {len(state['groups'])} groups | {_ms(began)} |"
    group = max(state["groups"], key=lambda each: each["size"])
    began = time.perf_counter()
    order = json.loads(client.get(f"/api/order?group={group['id'].replace(' ', '%20')}"))
    yield f"| first order of a group of {group['size']} ({order['by']}) | {_ms(began)} |"
    began = time.perf_counter()
    for row in order["ids"][:100]:
        client.get(f"/thumb/{row}")
    yield f"| first screen: 100 thumbnails of {SIDE}-pixel pictures, one after the other | {_ms(began)} |"
    while len(json.loads(client.get("/api/state"))["ready"]) < 6:
        time.sleep(0.2)
    for name, path in {
        "/api/state again": "/api/state",
        "/api/columns (for the map)": "/api/columns",
        "/api/map": "/api/map",
        "/api/similar, 100 of all": "/api/similar?ids=5&count=100",
        "/api/queue, 50 questions": "/api/queue?count=50",
        "a thumbnail that is in memory": f"/thumb/{order['ids'][0]}",
    }.items():
        yield f"| {name} | {_median(lambda path=path: client.get(path))} |"
    yield f"| split proposals for {group['size']} images | {_median(lambda: client.get(_proposals(group['id'])), 3)} |"
    yield from _rates(client, order["ids"])
    version, client = state["version"], Client(client.address, client.cookie)  # the old one was let go meanwhile

    def move(row: int) -> None:
        nonlocal version
        edit = {"edit": "move", "images": [row], "into": "somewhere else"}
        version = client.post("/api/edits", {"version": version, "edit": edit})["version"]

    rows = iter(order["ids"])
    yield f"| an edit, on disk and with the new state | {_median(lambda: move(next(rows)), 20)} |"
    memory = psutil.Process(pid).memory_info().rss / 1e6
    yield f"| memory of the server | {memory:.0f} MB |"


def _rates(client: Client, ids: list[int]) -> Iterator[str]:
    """Requests per second of four connections at once, as a browser scrolls."""

    def fetch(rows: list[int]) -> int:
        own = Client(client.address, client.cookie)
        for row in rows:
            own.get(f"/thumb/{row}")
        return len(rows)

    for name, rows in (("made on demand", list(range(0, 4000, 4))), ("in memory", ids[:100] * 20)):
        began = time.perf_counter()
        with ThreadPoolExecutor(4) as pool:
            count = sum(pool.map(fetch, [rows[start::4] for start in range(4)]))
        yield f"| thumbnails {name}, four connections | {count / (time.perf_counter() - began):.0f} per second |"


def _orders(work: Path) -> Iterator[str]:
    """How good the order by likeness is: the mean distance of neighbors in it."""
    found = Kept(work / "run", work / "cache").load(LIKENESS)
    assert found is not None
    points, random = found[0]["reduced"], np.random.default_rng(0)
    for n in (500, 5000, len(points)):
        rows = np.sort(random.permutation(len(points))[:n])
        began = time.perf_counter()
        order = order_by_likeness(points[rows])
        seconds = time.perf_counter() - began
        step, chance = mean_step(points[rows], order), mean_step(points[rows], random.permutation(n))
        yield f"| order of {n} images as one group: {seconds:.2f} s | mean step {step:.3f}, at random {chance:.3f} |"


def _proposals(group: str) -> str:
    return f"/api/proposals?group={group.replace(' ', '%20')}"


def _median(do: Callable[[], Any], times: int = 7) -> str:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        do()
        taken.append(time.perf_counter() - began)
    return f"{1000 * statistics.median(taken):.1f} ms"


def _ms(began: float) -> str:
    return f"{1000 * (time.perf_counter() - began):.0f} ms"


if __name__ == "__main__":
    main()
