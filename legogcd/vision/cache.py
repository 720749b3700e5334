"""Kept views: V random views of every image and the evaluation view, encoded once, memory-mapped ever after.

A kept folder holds one raw file a state tensor, shaped [images, 1 + V, ...] with the evaluation view first, and
``manifest.json``, which names everything the contents depend on. It is built in ``….partial`` and renamed when
whole; an interrupted build goes on where it stopped.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from torch import Tensor

from legogcd.collection import Images
from legogcd.errors import UserError
from legogcd.files import write_text
from legogcd.vision.encode import BATCH_VIEWS, Encoder
from legogcd.vision.tail import State
from legogcd.vision.views import evaluation_view, random_view

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
_AS_BYTES = {2: np.uint16, 4: np.uint32}  # NumPy has no bfloat16: the files are mapped as plain integers
_FORMAT = 1
_SAVE_EVERY = 50  # batches between two saved positions of a build


@dataclass(frozen=True)
class KeptTensor:
    """One file of a kept folder: a state tensor's name, its shape for one view, and how it is stored."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def bytes_per_view(self) -> int:
        return int(np.prod(self.shape)) * DTYPES[self.dtype].itemsize

    def mapped(self, folder: Path, n_views: int) -> Tensor:
        """The file as a tensor [n_views, *shape] that reads from disk when it is indexed."""
        torch_type = DTYPES[self.dtype]
        shape = (n_views, *self.shape)
        numbers = np.memmap(folder / f"{self.name}.bin", _AS_BYTES[torch_type.itemsize], mode="c", shape=shape)
        return torch.from_numpy(numbers).view(torch_type)

    def stored(self, tensor: Tensor) -> np.ndarray:
        """A trunk's output [N, *shape] as the integers that go into the file."""
        half = tensor.to(device="cpu", dtype=DTYPES[self.dtype]).contiguous()
        return half.view(torch.int16 if half.itemsize == 2 else torch.int32).numpy()


class KeptViews:
    """An opened kept folder: states of any view of any image, straight from the memory map."""

    def __init__(self, folder: Path) -> None:
        manifest = json.loads((folder / "manifest.json").read_text())
        self.folder = folder
        self.n_images: int = manifest["n_images"]
        self.n_views: int = manifest["views"]
        self.unreadable: dict[int, str] = {int(row): reason for row, reason in manifest["unreadable"].items()}
        kept = [KeptTensor(t["name"], tuple(t["shape"]), t["dtype"]) for t in manifest["tensors"]]
        self._tensors = [tensor.mapped(folder, self.n_images * (1 + self.n_views)) for tensor in kept]

    def states(self, rows: Tensor, slots: Tensor) -> State:
        """Views ``slots`` [N] (0 = the evaluation view) of images ``rows`` [N], copied out of the map."""
        flat = rows * (1 + self.n_views) + slots
        return tuple(tensor.index_select(0, flat) for tensor in self._tensors)

    def pair(self, rows: Tensor, generator: torch.Generator) -> State:
        """Two different random views of each image: [2·B, ...], all first views before all second ones."""
        first = torch.randint(self.n_views, rows.shape, generator=generator)
        step = torch.randint(1, self.n_views, rows.shape, generator=generator)
        second = (first + step) % self.n_views
        return self.states(rows.repeat(2), 1 + torch.cat([first, second]))

    def evaluation(self, rows: Tensor) -> State:
        """The evaluation view of each image: [N, ...]."""
        return self.states(rows, torch.zeros_like(rows))


class Keeping:
    """What to keep: how many random views, drawn from which seed, stored how, for which images and backbone."""

    def __init__(self, encoder: Encoder, images: Images, views: int, seed: int = 0, dtype: str = "bf16") -> None:
        if views == 1 or views < 0:
            raise UserError(f"views = {views}: a step needs two different views of an image, so 2 or more")
        self.encoder, self.images, self.views, self.seed, self.dtype = encoder, images, views, seed, dtype

    @cached_property
    def tensors(self) -> list[KeptTensor]:
        """The files and their shapes, found by encoding one blank view."""
        backbone = self.encoder.backbone
        state = self.encoder.trunk(np.zeros((1, backbone.image_size, backbone.image_size, 3), np.uint8))
        return [
            KeptTensor(name, tuple(tensor.shape[1:]), self.dtype if half else "fp32")
            for name, tensor, half in zip(backbone.state_names, state, backbone.half, strict=True)
        ]

    @property
    def bytes_per_view(self) -> int:
        return sum(tensor.bytes_per_view for tensor in self.tensors)

    @property
    def size_on_disk(self) -> int:
        """Bytes that keeping these views takes, known before anything is written."""
        return len(self.images) * (1 + self.views) * self.bytes_per_view

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Everything the kept bytes depend on."""
        backbone = self.encoder.backbone
        return {
            "format": _FORMAT,
            "backbone": backbone.name,
            "weights": backbone.fingerprint(),
            "image_size": backbone.image_size,
            "train_blocks": backbone.train_blocks,
            "normalization": [*backbone.mean, *backbone.std],
            "precision": self.encoder.precision,
            "images": self.images.fingerprint(),
            "n_images": len(self.images),
            "views": self.views,
            "seed": self.seed,
            "tensors": [asdict(tensor) for tensor in self.tensors],
        }

    @property
    def key(self) -> str:
        """A short name for the manifest: anything that differs in it gives another one."""
        return hashlib.sha256(json.dumps(self.manifest, sort_keys=True).encode()).hexdigest()[:20]

    def crop(self, row: int, image: np.ndarray) -> np.ndarray:
        """The evaluation view and V random ones, which depend on seed and row alone: [1 + V, S, S, 3]."""
        random, rule = np.random.default_rng((self.seed, row)), self.encoder.rule
        return np.stack([evaluation_view(image, rule), *(random_view(image, rule, random) for _ in range(self.views))])


def kept_already(keeping: Keeping, cache: Path) -> KeptViews | None:
    """The kept views if they are there and whole."""
    folder = cache / f"views-{keeping.key}"
    return KeptViews(folder) if (folder / "manifest.json").exists() else None


def keep(keeping: Keeping, cache: Path, progress: Callable[[int], None] = lambda done: None) -> KeptViews:
    """The kept views, built or completed first where needed; ``progress`` hears how many images are done."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _locked(cache / f"views-{keeping.key}.lock"):
            if kept_already(keeping, cache) is None:
                _build(keeping, cache / f"views-{keeping.key}", progress)
    except OSError as error:
        raise UserError(f"cannot keep views in {cache}: {error.strerror}; give another folder with --cache") from error
    return KeptViews(cache / f"views-{keeping.key}")


def _build(keeping: Keeping, folder: Path, progress: Callable[[int], None]) -> None:
    partial = folder.with_suffix(".partial")
    partial.mkdir(exist_ok=True)
    images_per_batch = max(1, BATCH_VIEWS // (1 + keeping.views))
    done, unreadable = _saved_position(partial)
    with ExitStack() as stack:
        files = []
        for tensor in keeping.tensors:
            file = stack.enter_context(open(partial / f"{tensor.name}.bin", "ab"))
            file.truncate(done * (1 + keeping.views) * tensor.bytes_per_view)
            files.append(file)
        progress(done)
        stream = keeping.encoder.stream(
            keeping.images, range(done, len(keeping.images)), keeping.crop, images_per_batch
        )
        for number, (rows, state, bad) in enumerate(stream, start=1):
            unreadable |= bad
            for place, (file, tensor) in enumerate(zip(files, keeping.tensors, strict=True)):
                block = np.zeros((len(rows) + len(bad), (1 + keeping.views) * tensor.bytes_per_view), np.uint8)
                if state is not None:
                    block[np.array(rows) - done] = tensor.stored(state[place]).reshape(len(rows), -1).view(np.uint8)
                file.write(block.tobytes())
            done += len(rows) + len(bad)
            progress(done)
            if number % _SAVE_EVERY == 0:
                _save_position(partial, files, done, unreadable)
        _save_position(partial, files, done, unreadable)
    manifest = {**keeping.manifest, "unreadable": {str(row): reason for row, reason in sorted(unreadable.items())}}
    write_text(partial / "manifest.json", json.dumps(manifest, indent=1, sort_keys=True))
    (partial / "position.json").unlink()
    partial.replace(folder)


def _saved_position(partial: Path) -> tuple[int, dict[int, str]]:
    try:
        saved = json.loads((partial / "position.json").read_text())
    except FileNotFoundError:
        return 0, {}
    return saved["done"], {int(row): reason for row, reason in saved["unreadable"].items()}


def _save_position(partial: Path, files: Sequence[IO[bytes]], done: int, unreadable: dict[int, str]) -> None:
    for file in files:
        file.flush()
        os.fsync(file.fileno())
    write_text(partial / "position.json", json.dumps({"done": done, "unreadable": unreadable}))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let one process at a time build a folder; the system drops the lock when a process dies."""
    try:
        import fcntl
    except ImportError:  # no such lock outside POSIX: two builds at once would only waste work
        yield
        return
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
