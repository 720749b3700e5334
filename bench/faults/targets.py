"""A fuzz target for each reader of files that others may have written: right files, and what must cope with wrong ones.

A target takes bytes. It succeeds, or raises `UserError` (`DamagedFileError` is one) or `UnreadableImage`; anything else
is a bug.
"""

import io
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.faults.bad_images import good_images
from legogcd.collection.images import ImageFiles
from legogcd.errors import UserError

Read = Callable[[bytes], None]


@dataclass(frozen=True)
class Target:
    """A reader: right files it reads, and the function that reads one."""

    name: str
    seeds: tuple[bytes, ...]
    read: Read


def targets(folder: Path) -> Iterator[Target]:
    """Every target; each has a folder of its own below ``folder`` to work in."""
    for make in _MAKERS:
        yield from make(folder / make.__name__.strip("_"))


def _images(folder: Path) -> Iterator[Target]:
    from legogcd.vision.decode import read_rgb

    folder.mkdir(parents=True)

    def read(ending: str, content: bytes) -> None:
        path = folder / f"picture.{ending}"
        path.write_bytes(content)
        read_rgb(path, 224)

    for ending, content in good_images().items():
        yield Target(f"image {ending}", (content,), partial(read, ending))


PREDICTIONS = (
    b"path,category,status,confidence,predicted\n"
    b"a/1.png,owl,labelled,0.9000,owl\n"
    b'a/2.png,owl,known,0.8000,owl\n"b,3.png",new-001,novel,0.6000,new-001\n%bytes:caf%E9.png,new-002,novel,1.0000,owl\n'
)


def _tables(folder: Path) -> Iterator[Target]:
    from legogcd.collection.differences import CollectionRecord
    from legogcd.collection.label_files import read_labels, read_truth
    from legogcd.evaluation.results import ResultBook
    from legogcd.run.categories import current

    folder.mkdir(parents=True)
    images = ImageFiles(folder, ("a/1.png", "a/2.png", "b,3.png"))
    labels = b'path,label\na/1.png,owl\na/2.png,"snowy owl"\n"b,3.png",\n'
    yield Target("labels", (labels,), _from_file(folder / "labels.csv", lambda path: read_labels(path, images)))
    yield Target("truth", (labels,), _from_file(folder / "truth.csv", lambda path: read_truth(path, images)))
    yield Target("predictions.csv", (PREDICTIONS,), _from_file(folder / "predictions.csv", lambda p: current(p.parent)))
    record = b"path,bytes,modified,label\na/1.png,12,170000000,owl\na/2.png,13,170000001,\n"
    yield Target("collection.csv", (record,), _from_file(folder / "collection.csv", CollectionRecord.read))
    book = b"dataset,method,seed,images,epochs,all\ncub,simgcd,0,5994,200,0.6\n"
    yield Target("results", (book,), _from_file(folder / "results.csv", lambda path: ResultBook(path).rows))


def _edits(folder: Path) -> Iterator[Target]:
    from legogcd.edits import Confirm, Merge, Name, Split, Undo
    from legogcd.edits.edit import to_line
    from legogcd.run.categories import Categories, append_edit, current

    folder.mkdir(parents=True)
    (folder / "predictions.csv").write_bytes(PREDICTIONS)
    split, confirm = Split("owl", ("a/2.png",), "new-003"), Confirm({"hawk": ("b,3.png",)})
    edits = (Name("new-001", "hawk"), Merge("owl", ("new-002",)), split, confirm, Undo(4))
    for edit in edits:
        append_edit(folder, edit)
    checked = (folder / "edits.jsonl").read_bytes()
    unchecked = b"".join(to_line(edit).partition(b', "check"')[0].replace(b": 2", b": 1", 1) + b"}\n" for edit in edits)

    def read(path: Path) -> None:
        current(path.parent)
        Categories.of_run(path.parent, ["owl"], 3)

    yield Target("edits.jsonl", (checked, unchecked), _from_file(folder / "edits.jsonl", read))


def _run_files(folder: Path) -> Iterator[Target]:
    from legogcd.run.config import read_config
    from legogcd.run.folder import read_metrics
    from legogcd.run.manifest import damaged_files, read_manifest
    from legogcd.run.model import read_calibration

    folder.mkdir(parents=True)
    yield Target("config.json", (_config(),), _alone(folder / "config", "config.json", read_config))

    def manifest(run: Path) -> None:
        read_manifest(run)
        damaged_files(run)

    noted = json.dumps({"format": 1, "files": {"config.json": "0" * 64, "model.safetensors": "1" * 64}}, indent=1)
    yield Target("manifest.json", (noted.encode(),), _alone(folder / "manifest", "manifest.json", manifest))
    log = b'{"epoch": 1, "loss": 2.5, "all": 0.5, "selected": 3}\n{"epoch": 2, "loss": 1.5, "all": null}\n'

    def metrics(run: Path) -> None:
        for entry in read_metrics(run):
            entry.get("loss")

    yield Target("metrics.jsonl", (log,), _alone(folder / "metrics", "metrics.jsonl", metrics))

    def calibration(run: Path) -> None:
        found = read_calibration(run)
        tempered = found.temper(np.array([[0.9, 0.1]]))
        if not np.isfinite(tempered).all() or bool(found.unsure(np.array([2.0]))[0]):
            raise AssertionError(f"{found} was accepted and says nothing")

    found = (
        b'{"temperature": 1.5, "threshold": 0.6, "held_out": 20, "accuracy": 0.9, "error_before": 0.1, "error": 0.02}'
    )
    yield Target("calibration.json", (found,), _alone(folder / "calibration", "calibration.json", calibration))


def _config() -> bytes:
    from legogcd.run.config import ImagesRecord, RunConfig
    from legogcd.run.options import RunOptions

    images = ImagesRecord(root="/photos", count=4, labelled=1, unreadable={"x.png": "damaged"}, digests={"names": "a"})
    config = RunConfig(
        options=RunOptions(n_classes=4, epochs=3),
        method="legogcd+",
        recipe={"epochs": 3, "learning_rate": 0.1},
        weights="ab" * 32,
        known=("owl", "hawk"),
        images=images,
    )
    return json.dumps(config.as_json(), indent=1, sort_keys=True).encode()


def _tensors(folder: Path) -> Iterator[Target]:
    import torch

    from legogcd.run.figure_sample import read_sample
    from legogcd.training.checkpoint import load_tensors, save_tensors
    from legogcd.vision.backbones.dino import _read, _unwrapped

    folder.mkdir(parents=True)
    save_tensors(folder / "seed.safetensors", {"tail.a": torch.ones(3, 4), "method.b": torch.arange(5)}, epochs=2)
    seed = (folder / "seed.safetensors").read_bytes()
    yield Target("model.safetensors", (seed,), _from_file(folder / "model.safetensors", load_tensors))
    sample: dict[str, Any] = {"features": torch.ones(2, 3).half(), "classes": torch.tensor([0, 1])}
    sample |= {"confidence": torch.ones(2), "in_known": torch.tensor([True, False])}
    save_tensors(folder / "sample.safetensors", sample, names=["owl", "hawk"], n_known=1)
    seed = (folder / "sample.safetensors").read_bytes()
    yield Target(
        "sample.safetensors", (seed,), _from_file(folder / "sample.safetensors", lambda p: read_sample(p.parent))
    )
    buffer = io.BytesIO()
    torch.save(
        {"teacher": {"patch_embed.proj.weight": torch.ones(4, 3, 2, 2), "cls_token": torch.ones(1, 1, 4)}}, buffer
    )

    yield Target(".pth", (buffer.getvalue(),), _from_file(folder / "weights.pth", lambda p: _unwrapped(_read(p), p)))


def _views(folder: Path) -> Iterator[Target]:
    import torch

    from legogcd.vision.views.kept import KeptViews
    from legogcd.vision.views.sealed import write_sealed
    from legogcd.vision.views.shards import Layout, writing
    from legogcd.vision.views.store import check_kept
    from legogcd.vision.views.tensor_format import StoredTensor

    folder = folder / "views-0"
    folder.mkdir(parents=True)
    layout = Layout((StoredTensor("tokens", (2, 4), "bf16"), StoredTensor("skip", (3,), "fp32")), 3, 5, 2)
    for shard in layout.shards():
        with writing(folder, layout, shard) as writer:
            count = 3 * len(shard)
            writer.add(list(shard.rows), (torch.ones(count, 2, 4), torch.ones(count, 3)))
    write_sealed(folder / "manifest.json", {"format": 3, **layout.described()})

    def read(name: str, content: bytes) -> None:
        right = (folder / name).read_bytes()
        (folder / name).write_bytes(content)
        try:
            try:
                check_kept(folder)
            finally:
                views = KeptViews(folder)
                views.evaluation(torch.arange(views.n_images))
        finally:
            (folder / name).write_bytes(right)

    for name in ("manifest.json", "00001.json", "00001.bin"):
        yield Target(f"views {name}", ((folder / name).read_bytes(),), partial(read, name))


def _datasets(folder: Path) -> Iterator[Target]:
    from legogcd.paper.datasets import dataset_named
    from legogcd.paper.datasets.index_lists import differences, read_index_lists

    def data_set(name: str, home: Path, file: str, path: Path) -> None:
        for split in ("train", "test"):
            if file != "devkit/cars_test_annos_withlabels.mat" or split == "test":
                dataset_named(name).load(home, split)  # type: ignore[arg-type]

    for name, make in (
        ("cifar10", _cifar10),
        ("cifar100", _cifar100),
        ("stanford_cars", _cars),
        ("cub", _cub),
        ("fgvc_aircraft", _aircraft),
    ):
        home = folder / name
        for file, content in make(home).items():
            read = partial(data_set, name, home, file)
            yield Target(f"{name} {Path(file).name}", (content,), _put_back(home / file, content, read))

    lists = json.dumps(
        {"dataset": "cub", "images": 4, "old": [0, 1], "new": [2], "labelled": [0], "unlabelled": [1, 2]}
    )

    def index(path: Path) -> None:
        found = read_index_lists(path)
        differences(found, json.loads(lists))

    yield Target("index lists", (lists.encode(),), _from_file(folder / "lists.json", index))


def _written(home: Path, files: dict[str, bytes]) -> dict[str, bytes]:
    for name, content in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(content)
    return files


def _cifar10(home: Path) -> dict[str, bytes]:
    names = (*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin")
    files = _written(home, {name: b"".join(bytes([label]) + bytes(3072) for label in (0, 9)) for name in names})
    return {"data_batch_2.bin": files["data_batch_2.bin"]}


def _cifar100(home: Path) -> dict[str, bytes]:
    records = b"".join(bytes([1, label]) + bytes(3072) for label in (0, 99))
    names = "\n".join(f"thing_{number}" for number in range(100)).encode()
    files = _written(home, {"train.bin": records, "test.bin": records, "fine_label_names.txt": names})
    return {name: files[name] for name in ("train.bin", "fine_label_names.txt")}


def _cars(home: Path) -> dict[str, bytes]:
    from scipy.io import savemat

    rows = np.array([(1, "1.jpg"), (196, "2.jpg")], dtype=[("class", object), ("fname", object)])
    buffer, names = io.BytesIO(), io.BytesIO()
    savemat(buffer, {"annotations": rows})
    savemat(names, {"class_names": np.array([f"car {number}" for number in range(196)], dtype=object)})
    annotations = {"devkit/cars_train_annos.mat": buffer.getvalue(), "devkit/cars_meta.mat": names.getvalue()}
    _written(home, {f"{part}/{number}.jpg": b"" for part in ("cars_train", "cars_test") for number in (1, 2)})
    _written(home, {"devkit/cars_test_annos_withlabels.mat": buffer.getvalue()})
    return _written(home, annotations)


def _cub(home: Path) -> dict[str, bytes]:
    _written(home, {f"images/001.Albatross/{number}.jpg": b"" for number in (1, 2)})
    paths = b"1 001.Albatross/1.jpg\n2 001.Albatross/2.jpg\n"
    files = {"images.txt": paths, "image_class_labels.txt": b"1 1\n2 1\n", "train_test_split.txt": b"1 1\n2 0\n"}
    return _written(home, files)


def _aircraft(home: Path) -> dict[str, bytes]:
    _written(home, {f"data/images/{number:07d}.jpg": b"" for number in range(100)})
    rows = "".join(f"{number:07d} variant {number}\n" for number in range(100)).encode()
    files = {"data/images_variant_trainval.txt": rows, "data/images_variant_test.txt": rows}
    return {"data/images_variant_trainval.txt": _written(home, files)["data/images_variant_trainval.txt"]}


def _backbone_files(folder: Path) -> Iterator[Target]:
    from legogcd.vision.backbones.hub import _shards
    from legogcd.vision.backbones.preprocessor import read_json

    folder.mkdir(parents=True)
    index = json.dumps({"metadata": {}, "weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}).encode()
    yield Target("weights index", (index,), _from_file(folder / "model.safetensors.index.json", _shards))
    described = json.dumps({"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}).encode()
    yield Target("preprocessor", (described,), _from_file(folder / "preprocessor_config.json", read_json))


def _from_file(path: Path, read: Callable[[Path], object]) -> Read:
    def from_bytes(content: bytes) -> None:
        path.write_bytes(content)
        read(path)

    return from_bytes


def _put_back(path: Path, right: bytes, read: Callable[[Path], object]) -> Read:
    """For files that other targets need as they were."""

    def from_bytes(content: bytes) -> None:
        path.write_bytes(content)
        try:
            read(path)
        finally:
            path.write_bytes(right)

    return from_bytes


def _alone(folder: Path, name: str, read: Callable[[Path], object]) -> Read:
    folder.mkdir(parents=True)
    return _from_file(folder / name, lambda path: read(path.parent))


_MAKERS = (_images, _tables, _edits, _run_files, _tensors, _views, _datasets, _backbone_files)


def inputs(target: Target, count: int, seed: int = 0) -> Iterator[bytes]:
    """The right files, then wrong ones made of them, the same for the same seed."""
    from bench.faults.mutations import TOKENS, mutated

    chooser = random.Random(f"{target.name} {seed}")
    yield from (*target.seeds, b"", *TOKENS[-3:])
    for _ in range(count - len(target.seeds) - 4):
        yield mutated(chooser.choice(target.seeds), chooser)


def outcome(target: Target, content: bytes) -> str:
    """``read``, ``refused``, or what went wrong."""
    from legogcd.errors import UnreadableImage

    try:
        target.read(content)
    except UserError as refusal:
        return "refused" if "\n" not in str(refusal) else f"more than one line: {str(refusal)[:100]!r}"
    except UnreadableImage:
        return "refused"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:100]}"
    return "read"
