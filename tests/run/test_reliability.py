"""Nothing is lost and nothing damaged is used: kills, changed inputs, two writers, damaged files, full disks."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from legogcd.collection import Collection, find_images, from_folders
from legogcd.errors import DamagedFileError, Interrupted, UserError
from legogcd.locks import try_lock
from legogcd.run import Job, RunOptions, discover
from legogcd.run.discovery import read_predictions
from legogcd.run.folder import LOCK, SEALED, read_metrics
from legogcd.run.model import load_run
from legogcd.training import journal as journal_module

SAME = (*SEALED, "manifest.json")
QUICK = {"batch_size": 16, "projector_hidden": 16, "projector_out": 8}


@pytest.fixture
def job(pictures: Path, tiny_vit: Path, tmp_path: Path) -> Job:
    collection, _ = from_folders(find_images(pictures), ["blue", "green"])
    options = RunOptions(
        n_classes=4,
        epochs=3,
        settings=QUICK,
        backbone=str(tiny_vit),
        image_size=32,
        views=2,
        cache=tmp_path / "cache",
        device="cpu",
        threads=1,
    )
    return Job(collection, options)


def bytes_of(run: Path) -> dict[str, bytes]:
    return {name: (run / name).read_bytes() for name in SAME}


@pytest.mark.parametrize("epoch", [1, 2, 3])
@pytest.mark.parametrize(
    ("method", "backbone"),
    [
        ("legogcd+", "efficientnet-lite0"),
        ("legogcd", "efficientnet-lite0"),
        ("uno", "efficientnet-lite0"),
        ("gcd", "efficientnet-lite0"),
        ("orca", "efficientnet-lite0"),
        ("rankstats", "efficientnet-lite0"),
        ("legogcd+", "tiny vit"),
    ],
)
def test_interrupted_after_any_epoch_a_run_ends_with_the_same_bytes(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, backbone: str, epoch: int
) -> None:
    settings = {"batch_size": 16}
    if method in ("legogcd", "legogcd+"):
        settings = QUICK
    elif method == "uno":
        settings |= {"head_hidden": 32, "head_out": 16}
    elif method == "gcd":
        settings |= {"projector_hidden": 16, "projector_out": 64}
    job = job.changed(method=method, settings=settings)
    if backbone != "tiny vit":
        job = job.changed(backbone=backbone)
    discover(job, tmp_path / "whole")
    monkeypatch.setattr(journal_module, "SECONDS_BETWEEN_CHECKPOINTS", 0)
    remember = journal_module.Journal.remember

    def interrupted(self: journal_module.Journal, *arguments: Any) -> None:
        remember(self, *arguments)
        if len(self.entries) == epoch:
            raise KeyboardInterrupt

    monkeypatch.setattr(journal_module.Journal, "remember", interrupted)
    with pytest.raises(Interrupted, match=f"{epoch} of 3 epochs are saved"):
        discover(job, tmp_path / "cut")
    monkeypatch.setattr(journal_module.Journal, "remember", remember)
    discover(job, tmp_path / "cut", resume=True)
    assert bytes_of(tmp_path / "cut") == bytes_of(tmp_path / "whole")


def interrupt_after(job: Job, run: Path, epoch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that was stopped right after an epoch."""
    with monkeypatch.context() as patch:
        remember = journal_module.Journal.remember

        def interrupted(self: journal_module.Journal, *arguments: Any) -> None:
            remember(self, *arguments)
            if len(self.entries) == epoch:
                raise KeyboardInterrupt

        patch.setattr(journal_module.Journal, "remember", interrupted)
        with pytest.raises(Interrupted):
            discover(job, run)


def test_other_labels_are_noticed_and_named(job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_after(job, tmp_path / "run", 1, monkeypatch)
    labels = job.collection.labels.copy()
    first, second = np.flatnonzero(labels == 0)[0], np.flatnonzero(labels == 1)[0]
    labels[[first, second]] = labels[[second, first]]
    swapped = replace(job, collection=Collection(job.collection.images, labels, job.collection.known))
    with pytest.raises(UserError, match="2 images labelled otherwise than before") as mistake:
        discover(swapped, tmp_path / "run", resume=True)
    assert job.collection.images.names[first] in str(mistake.value)


def test_other_image_files_are_noticed_and_named(
    job: Job, tmp_path: Path, pictures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_after(job, tmp_path / "run", 1, monkeypatch)
    Image.new("RGB", (40, 40), (1, 2, 3)).save(pictures / "red" / "03.png")
    changed = replace(job, collection=Collection(find_images(pictures), job.collection.labels, job.collection.known))
    with pytest.raises(UserError, match=r"another size than before: 'red/03\.png'"):
        discover(changed, tmp_path / "run", resume=True)


def test_the_next_round_names_images_that_were_changed(
    finished: tuple[Job, Path], tmp_path: Path, run_cli: Callable[..., Any]
) -> None:
    job, run = finished
    pictures = run.parent / "pictures"
    name = job.collection.images.names[int(np.flatnonzero(job.collection.labels >= 0)[0])]
    content, status = (pictures / name).read_bytes(), (pictures / name).stat()
    Image.new("RGB", (50, 50), (9, 9, 9)).save(pictures / name)
    words = ["--backbone", job.options.backbone, "--image-size", 32, "--views", 2, "--epochs", 1]
    arguments = ["discover", pictures, "--from", run, "--out", tmp_path / "next", "--cache", tmp_path / "cache", *words]
    done = run_cli(*arguments, "--no-report")
    (pictures / name).write_bytes(content)
    os.utime(pictures / name, ns=(status.st_atime_ns, status.st_mtime_ns))  # others use the run too
    assert done.exit_code == 0, done.stderr
    assert f"1 image of another size than before: '{name}'" in done.stderr


@pytest.mark.parametrize("damage", ["flip", "cut", "gone"])
def test_a_damaged_checkpoint_is_said_and_not_used(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    from test_pipeline import Heard

    discover(job, tmp_path / "whole")
    interrupt_after(job, tmp_path / "cut", 2, monkeypatch)
    path = next((tmp_path / "cut" / "checkpoints").iterdir())
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 64
    path.write_bytes(content if damage == "flip" else content[:1000])
    if damage == "gone":
        path.unlink()
    heard = Heard()
    discover(job, tmp_path / "cut", resume=True, display=heard)
    assert any("training starts again" in warning for warning in heard.warnings) == (damage != "gone")
    assert bytes_of(tmp_path / "cut") == bytes_of(tmp_path / "whole")


@pytest.mark.parametrize("spoil", [lambda lines: lines[1:], lambda lines: [lines[0], "{}", *lines[2:]]])
def test_a_log_with_lines_missing_is_not_resumed_as_if_whole(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[list[str]], list[str]]
) -> None:
    from test_pipeline import Heard

    discover(job, tmp_path / "whole")
    interrupt_after(job, tmp_path / "cut", 2, monkeypatch)
    log = tmp_path / "cut" / "metrics.jsonl"
    log.write_text("\n".join(spoil(log.read_text().splitlines())) + "\n")
    heard = Heard()
    discover(job, tmp_path / "cut", resume=True, display=heard)
    assert any("metrics.jsonl does not hold what was written" in warning for warning in heard.warnings)
    assert bytes_of(tmp_path / "cut") == bytes_of(tmp_path / "whole")


def test_two_runs_never_share_a_folder(job: Job, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    with try_lock(run / LOCK):
        for resume in (False, True):
            with pytest.raises(UserError, match=f"is in use by process {os.getpid()} on"):
                discover(job, run, resume=resume)
    assert [path.name for path in run.iterdir()] == [LOCK]
    discover(job, run)
    assert not (run / LOCK).exists()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, tiny_vit: Path) -> tuple[Job, Path]:
    from example_pictures import write_pictures

    folder = tmp_path_factory.mktemp("finished")
    collection, _ = from_folders(find_images(write_pictures(folder / "pictures")), ["blue", "green"])
    options = RunOptions(n_classes=4, epochs=1, settings=QUICK, backbone=str(tiny_vit), image_size=32, views=2)
    job = Job(collection, options.changed(cache=folder / "cache", device="cpu", threads=1))
    discover(job, folder / "run")
    return job, folder / "run"


def flipped(content: bytes, place: int) -> bytes:
    changed = bytearray(content)
    changed[place] ^= 1 << (place % 8)
    return bytes(changed)


def read_everything(run: Path) -> None:
    load_run(run, device="cpu")
    read_predictions(run)
    read_metrics(run)


def test_a_flipped_bit_in_any_file_of_a_run_is_found(finished: tuple[Job, Path]) -> None:
    _, run = finished
    chooser = random.Random(0)
    for name in SEALED:
        content = (run / name).read_bytes()
        for place in chooser.sample(range(len(content)), min(len(content), 5)):
            (run / name).write_bytes(flipped(content, place))
            if name in ("collection.csv", "skipped.csv", "near_duplicates.csv"):
                from legogcd.run.manifest import damaged_files

                assert damaged_files(run) == [name]
            else:
                with pytest.raises(UserError, match=r"^[^\n]+$"):
                    read_everything(run)
            (run / name).write_bytes(content)
    load_run(run, device="cpu")


def test_a_damaged_finished_run_is_mended_by_resuming(finished: tuple[Job, Path]) -> None:
    job, run = finished
    whole = bytes_of(run)
    for name in ("predictions.csv", "model.safetensors", "metrics.jsonl", "calibration.json"):
        (run / name).write_bytes(flipped(whole[name], len(whole[name]) // 2))
        discover(job, run, resume=True)
        assert bytes_of(run) == whole


DAMAGES: dict[str, Callable[[list[str]], list[str]]] = {
    "empty": lambda lines: [],
    "header only": lambda lines: lines[:1],
    "no header": lambda lines: lines[1:],
    "other header": lambda lines: ["path,label", *lines[1:]],
    "header twice": lambda lines: [lines[0], *lines],
    "a column less": lambda lines: [line.rsplit(",", 1)[0] for line in lines],
    "a cell more": lambda lines: [*lines[:3], lines[3] + ",x", *lines[4:]],
    "a cell less": lambda lines: [*lines[:3], lines[3].rsplit(",", 1)[0], *lines[4:]],
    "semicolons": lambda lines: [line.replace(",", ";") for line in lines],
    "tabs": lambda lines: [line.replace(",", "\t") for line in lines],
    "an image twice": lambda lines: [*lines, lines[1]],
    "no path": lambda lines: [*lines, ",blue,known,0.5000,blue"],
    "no category": lambda lines: [*lines, "x.png,,known,0.5000,blue"],
    "no prediction": lambda lines: [*lines, "x.png,blue,known,0.5000,"],
    "another status": lambda lines: [*lines, "x.png,blue,sure,0.5000,blue"],
    "a status in capitals": lambda lines: [*lines, "x.png,blue,KNOWN,0.5000,blue"],
    "no confidence": lambda lines: [*lines, "x.png,blue,known,,blue"],
    "nan": lambda lines: [*lines, "x.png,blue,known,nan,blue"],
    "infinite": lambda lines: [*lines, "x.png,blue,known,inf,blue"],
    "above one": lambda lines: [*lines, "x.png,blue,known,1.5000,blue"],
    "negative": lambda lines: [*lines, "x.png,blue,known,-0.5000,blue"],
    "words for a number": lambda lines: [*lines, "x.png,blue,known,high,blue"],
    "a comma for a point": lambda lines: [*lines, 'x.png,blue,known,"0,5000",blue'],
    "an open quote": lambda lines: [*lines, '"x.png,blue,known,0.5000,blue'],
    "text behind a quote": lambda lines: [*lines, '"x.png"y,blue,known,0.5000,blue'],
    "a blank line": lambda lines: [*lines[:3], "", *lines[3:]],
    "blanks": lambda lines: [*lines, "   "],
    "a zero byte": lambda lines: [*lines, "x\0.png,blue,known,0.5000"],
    "html": lambda lines: ["<html><body>404</body></html>"],
    "json": lambda lines: ['{"path": "x"}'],
    "a shell prompt": lambda lines: ["$ cat predictions.csv", *lines],
    "merge marks": lambda lines: [*lines[:2], "<<<<<<< mine", *lines[2:]],
    "lines joined": lambda lines: [lines[0], "".join(lines[1:])],
    "columns swapped": lambda lines: [lines[0], *(",".join(reversed(line.split(","))) for line in lines[1:])],
    "cut in the middle": lambda lines: [*lines[:-1], lines[-1][: len(lines[-1]) // 2]],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_table_that_is_no_table_is_one_clear_line_without_any_manifest(tmp_path: Path, damage: str) -> None:
    lines = ["path,category,status,confidence,predicted"]
    lines += [f"{number}.png,blue,known,0.5000,blue" for number in range(6)]
    (tmp_path / "predictions.csv").write_text("\n".join(DAMAGES[damage](lines)) + "\n")
    with pytest.raises(UserError) as mistake:
        read_predictions(tmp_path)
    assert "predictions.csv" in str(mistake.value)
    assert "\n" not in str(mistake.value)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00p", b"\x89PNG\r\n\x1a\n\0\0", b"path,category\x00", os.urandom(300)])
def test_bytes_that_are_no_text_are_one_clear_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "predictions.csv").write_bytes(content)
    with pytest.raises(UserError):
        read_predictions(tmp_path)


COMMAND = (
    "import sys; from legogcd.training import journal; journal.SECONDS_BETWEEN_CHECKPOINTS = float(sys.argv.pop(1));"
    "from legogcd.cli import main; main()"
)


def command(job: Job, pictures: Path, run: Path, *more: str, seconds: float = 0) -> list[str]:
    options = job.options.changed(epochs=20, settings={**QUICK, "batch_size": 8}, backbone="efficientnet-lite0")
    words = [sys.executable, "-c", COMMAND, str(seconds), "discover", str(pictures), "--labels", "folders"]
    words += ["--known", "blue,green", "--out", str(run), "--no-report", "--cache", str(options.cache)]
    return [*words, *(word.strip("'") for word in options.words()), *more]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_on_request_saves_and_says_how_to_go_on(
    job: Job, pictures: Path, tmp_path: Path, number: signal.Signals
) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    subprocess.run(command(job, pictures, whole), check=True, capture_output=True)
    process = subprocess.Popen(
        command(job, pictures, cut, seconds=1000), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    log = cut / "metrics.jsonl"
    while process.poll() is None and not (log.exists() and log.read_text().count("\n") > 1):
        time.sleep(0.01)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number, said
    assert "Traceback" not in said
    last = said.strip().splitlines()[-1]
    assert "of 20 epochs are saved; go on with: legogcd discover" in last
    assert last.endswith("--resume")
    assert (cut / "checkpoints").exists()
    subprocess.run(command(job, pictures, cut, "--resume"), check=True, capture_output=True)
    assert bytes_of(cut) == bytes_of(whole)


def test_a_full_disk_is_one_line_and_loses_nothing(
    job: Job, tmp_path: Path, pictures: Path, run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno

    from legogcd import files

    words = [word.strip("'") for word in job.options.words()]
    arguments = ["discover", pictures, "--labels", "folders", "--known", "blue,green", "--no-report"]
    arguments += ["--cache", tmp_path / "cache", *words, "--out"]
    assert run_cli(*arguments, tmp_path / "whole").exit_code == 0
    arguments.append(tmp_path / "run")
    sync = os.fsync
    for allowed in range(12):
        left = [allowed]

        def full(descriptor: int, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            sync(descriptor)

        monkeypatch.setattr(files.os, "fsync", full)
        done = run_cli(*arguments, *(["--resume"] if (tmp_path / "run").exists() else []))
        monkeypatch.setattr(files.os, "fsync", sync)
        if done.exit_code == 0:
            break
        assert done.exit_code == 2
        assert "No space left on device" in done.stderr
        assert "Traceback" not in done.stderr
        assert not list((tmp_path / "run").rglob(".*tmp*"))
    run_cli(*arguments, "--resume")
    assert bytes_of(tmp_path / "run") == bytes_of(tmp_path / "whole")


@pytest.mark.parametrize("rate", ["1e6", "1e30"])
def test_a_training_that_runs_away_names_the_step_and_the_term(job: Job, tmp_path: Path, rate: str) -> None:
    wild = job.changed(settings={**QUICK, "learning_rate": rate}, start="random", recipe="paper", method="legogcd")
    try:
        discover(wild, tmp_path / "run")
    except UserError as mistake:
        assert "step" in str(mistake)  # noqa: PT017 - a finite loss that says nothing is told by the summary instead
        assert "lower learning_rate" in str(mistake)  # noqa: PT017
    assert not list(tmp_path.rglob("*tmp*"))


def test_check_names_what_is_damaged(finished: tuple[Job, Path], run_cli: Callable[..., Any]) -> None:
    job, run = finished
    assert run_cli("check", run).exit_code == 0
    assert run_cli("check", job.options.cache).exit_code == 0
    content = (run / "skipped.csv").read_bytes()
    (run / "skipped.csv").write_bytes(content + b"x")
    done = run_cli("check", run)
    assert (done.exit_code, "damaged: " in done.stdout, "skipped.csv" in done.stdout) == (2, True, True)
    (run / "skipped.csv").write_bytes(content)
    shard = next(Path(str(job.options.cache)).rglob("*.bin"))
    kept = shard.read_bytes()
    shard.write_bytes(flipped(kept, len(kept) // 2))
    done = run_cli("check", job.options.cache)
    assert (done.exit_code, shard.name in done.stdout) == (2, True)
    shard.write_bytes(kept)
    assert run_cli("check", run.parent / "pictures").exit_code == 2


def test_every_file_left_out_is_listed_with_its_reason(job: Job, pictures: Path, tmp_path: Path) -> None:
    (pictures / "notes.txt").write_text("mine")
    (pictures / "red" / "00.png").write_bytes(b"not an image")
    os.mkfifo(pictures / "pipe.jpg")
    collection = Collection(find_images(pictures), job.collection.labels, job.collection.known)
    discover(replace(job, collection=collection), tmp_path / "run")
    lines = (tmp_path / "run" / "skipped.csv").read_text().splitlines()
    assert lines[0] == "path,reason"
    assert {line.split(",")[0] for line in lines[1:]} == {"notes.txt", "pipe.jpg", "red/00.png"}
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["files"].keys() >= {"skipped.csv"}


def test_damage_is_the_users_to_hear_of(finished: tuple[Job, Path]) -> None:
    _, run = finished
    content = (run / "manifest.json").read_bytes()
    for spoiled in (b"{", b"[]", content[:50], b'{"format": 1, "files": {"../x": "y"}}'):
        (run / "manifest.json").write_bytes(spoiled)
        with pytest.raises(DamagedFileError, match=r"manifest\.json is damaged"):
            load_run(run, device="cpu")
    (run / "manifest.json").write_bytes(content)


def test_a_training_that_comes_to_nothing_is_said_in_the_run_and_in_predict(
    job: Job, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from test_pipeline import Heard

    from legogcd.run.model import Model
    from legogcd.run.predict import predict_run

    def all_the_same(self: Model, features: Any) -> np.ndarray:
        return np.tile([0.9, 0.1, 0.0, 0.0], (len(features), 1))

    honest, collapsed = Heard(), Heard()
    discover(job, tmp_path / "honest", display=honest)
    monkeypatch.setattr(Model, "classify", all_the_same)
    discover(job, tmp_path / "run", display=collapsed)
    assert not any("collapsed" in warning for warning in honest.warnings)
    assert any("the training collapsed" in warning for warning in collapsed.warnings)
    again = Heard()
    predict_run(tmp_path / "run", find_images(pictures), tmp_path / "table.csv", display=again)
    assert any("the training collapsed" in warning for warning in again.warnings)


def test_kept_views_can_know_their_images_by_content(job: Job, pictures: Path) -> None:
    by_time, by_content = job, job.changed(recognize="content")
    first = {name: discover(each).config.kept_in for name, each in (("time", by_time), ("content", by_content))}
    path = pictures / "red" / "00.png"
    status = path.stat()
    path.write_bytes(path.read_bytes()[:-1] + b"\0")  # another image of the same size
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    changed = Collection(find_images(pictures), job.collection.labels, job.collection.known)
    assert discover(replace(by_time, collection=changed)).config.kept_in == first["time"]  # cannot tell
    assert discover(replace(by_content, collection=changed)).config.kept_in != first["content"]


def test_a_strangers_backbone_is_not_loaded_unasked(finished: tuple[Job, Path], tmp_path: Path) -> None:
    import shutil

    _, run = finished
    foreign = shutil.copytree(run, tmp_path / "from a stranger")
    with pytest.raises(UserError, match="if you trust it, name it with --backbone"):
        load_run(foreign, device="cpu")
    load_run(foreign, backbone=finished[0].options.backbone, device="cpu")
