"""Kept views: V random views of every image and the evaluation view, encoded once, memory-mapped ever after.

A kept folder holds one raw file a state tensor, shaped [images, 1 + V, ...] with the evaluation view first, and
``manifest.json``, which names everything the contents depend on. It is built in ``….partial`` and renamed when
whole; an interrupted build goes on where it stopped.

As int8, a vector of D numbers is kept with its scale behind it, max |x| / 127 in float32: D + 4 bytes for bf16's 2·D.
"""

import hashlib
import json
import mmap
import os
import warnings
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
from legogcd.vision.tail import KeptState
from legogcd.vision.views.draw import evaluation_view, random_view
from legogcd.vision.views.encode import BATCH_VIEWS, Encoder
from legogcd.vision.views.rows import Rows

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
INT8 = "int8"
KEPT_DTYPES = (*DTYPES, INT8)
_SCALE = torch.float32
_FORMAT = 2  # resized pixels differ in the last bit from those of format 1
_MOST_VIEWS = 64  # up to which a folder with more views than wanted is looked for
_SAVE_EVERY = 50  # batches between two saved positions of a build


def quantized(values: Tensor) -> tuple[Tensor, Tensor]:
    """Numbers [..., D] in int8 and scales [...] whose product is ``values`` [..., D] to 1/254 of a vector's largest.

    >>> numbers, scales = quantized(torch.tensor([[-2.0, 1.0, 0.5], [0.0, 0.0, 0.0]]))
    >>> numbers.tolist(), (scales * 127).tolist()
    ([[-127, 64, 32], [0, 0, 0]], [2.0, 0.0])
    """
    scales = values.to(_SCALE).abs().amax(-1) / 127
    return (values / scales.clamp_min(torch.finfo(_SCALE).tiny)[..., None]).round().to(torch.int8), scales


def as_kept(values: Tensor, dtype: str) -> Tensor:
    """What training would read of ``values`` [..., D] after keeping them as ``dtype``."""
    if dtype != INT8:
        return values.to(DTYPES[dtype])
    numbers, scales = quantized(values)
    return numbers * scales[..., None]


@dataclass(frozen=True)
class KeptTensor:
    """One file of a kept folder: a state tensor's name, its shape for one view, and how it is stored."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def bytes_per_view(self) -> int:
        return int(np.prod(self.shape[:-1])) * self._bytes_per_vector

    @property
    def _bytes_per_vector(self) -> int:
        if self.dtype != INT8:
            return self.shape[-1] * DTYPES[self.dtype].itemsize
        return self._padded + _SCALE.itemsize

    @property
    def _padded(self) -> int:
        """The numbers of an int8 vector, up to where a scale can stand."""
        return -self.shape[-1] % _SCALE.itemsize + self.shape[-1]

    def opened(self, folder: Path, n_views: int) -> "KeptFile":
        return KeptFile(self, folder / f"{self.name}.bin", n_views)

    def unpacked(self, content: Tensor) -> tuple[Tensor, Tensor | None]:
        """Bytes [..., bytes a vector] as numbers [..., D] and, for int8, their scales [...]."""
        if self.dtype != INT8:
            return content.view(DTYPES[self.dtype]), None
        return content.view(torch.int8)[..., : self.shape[-1]], content[..., self._padded :].view(_SCALE)[..., 0]

    def packed(self, values: Tensor) -> np.ndarray:
        """A trunk's output [N, *shape] as the bytes that go into the file, [N, bytes a view]."""
        content = torch.zeros(len(values), *self.shape[:-1], self._bytes_per_vector, dtype=torch.uint8)
        numbers, scales = self.unpacked(content)
        if scales is None:
            numbers.copy_(values)
        else:
            for kept, made in zip((numbers, scales), quantized(values), strict=True):
                kept.copy_(made)
        return content.flatten(1).numpy()


class KeptFile:
    """A file of a kept folder in the memory map: numbers [views, *shape] that are read from disk when they are used."""

    def __init__(self, tensor: KeptTensor, path: Path, n_views: int) -> None:
        self.tensor = tensor
        with open(path, "rb") as file:
            # read-only: a writable private map larger than memory is refused by some systems
            self._map = mmap.mmap(file.fileno(), n_views * tensor.bytes_per_view, access=mmap.ACCESS_READ)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The given buffer is not writable")  # and nothing writes to it
            content = torch.frombuffer(self._map, dtype=torch.uint8)
        self.numbers, self.scales = tensor.unpacked(content.view(n_views, *tensor.shape[:-1], -1))

    def rows(self, index: Tensor) -> Tensor | Rows:
        """Views ``index`` [N]: vectors are copied out, anything larger stays where it is and is read ahead."""
        rows = Rows(self.numbers, index, self.scales)
        if len(self.tensor.shape) == 1:
            return rows.dense()
        self._read_ahead(index.tolist())
        return rows

    def _read_ahead(self, index: list[int]) -> None:
        """Ask the system to have these views in memory by the time they are used."""
        if not hasattr(mmap, "MADV_WILLNEED"):
            return
        size = self.tensor.bytes_per_view
        for row in index:
            begin = row * size // mmap.PAGESIZE * mmap.PAGESIZE
            self._map.madvise(mmap.MADV_WILLNEED, begin, (row + 1) * size - begin)


class KeptViews:
    """An opened kept folder: states of any view of any image, straight from the memory map.

    Of the views it holds, the first ``views`` are used: they are those that would have been kept alone.
    """

    def __init__(self, folder: Path, views: int | None = None) -> None:
        manifest = json.loads((folder / "manifest.json").read_text())
        self.folder = folder
        self.n_images: int = manifest["n_images"]
        self._held: int = 1 + manifest["views"]  # of each image, with the evaluation view
        self.n_views: int = manifest["views"] if views is None else views
        self.unreadable: dict[int, str] = {int(row): reason for row, reason in manifest["unreadable"].items()}
        kept = [KeptTensor(t["name"], tuple(t["shape"]), t["dtype"]) for t in manifest["tensors"]]
        self._files = [tensor.opened(folder, self.n_images * self._held) for tensor in kept]

    def states(self, rows: Tensor, slots: Tensor) -> KeptState:
        """Views ``slots`` [N] (0 = the evaluation view) of images ``rows`` [N]; what is large is not copied."""
        flat = rows * self._held + slots
        return tuple(file.rows(flat) for file in self._files)

    def pair(self, rows: Tensor, generator: torch.Generator) -> KeptState:
        """Two different random views of each image: [2·B, ...], all first views before all second ones."""
        first = torch.randint(self.n_views, rows.shape, generator=generator)
        step = torch.randint(1, self.n_views, rows.shape, generator=generator)
        second = (first + step) % self.n_views
        return self.states(rows.repeat(2), 1 + torch.cat([first, second]))

    def evaluation(self, rows: Tensor) -> KeptState:
        """The evaluation view of each image: [N, ...]."""
        return self.states(rows, torch.zeros_like(rows))


class Keeping:
    """What to keep: how many random views, drawn from which seed, stored how, for which images and backbone."""

    def __init__(self, encoder: Encoder, images: Images, views: int, seed: int = 0, dtype: str = "bf16") -> None:
        if views == 1 or views < 0:
            raise UserError(f"views = {views}: a step needs two different views of an image, so 2 or more")
        if dtype not in KEPT_DTYPES:
            raise UserError(f"views cannot be kept as {dtype!r}; there are: {', '.join(KEPT_DTYPES)}")
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
        return self.key_with(self.views)

    def key_with(self, views: int) -> str:
        """The name there would be with another number of views."""
        manifest = {**self.manifest, "views": views}
        return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()[:20]

    def crop(self, row: int, image: np.ndarray) -> np.ndarray:
        """The evaluation view and V random ones, which depend on seed and row alone: [1 + V, S, S, 3]."""
        random, rule = np.random.default_rng((self.seed, row)), self.encoder.rule
        return np.stack([evaluation_view(image, rule), *(random_view(image, rule, random) for _ in range(self.views))])


def kept_already(keeping: Keeping, cache: Path) -> KeptViews | None:
    """The kept views if they are there and whole, alone or among more of them."""
    for views in range(keeping.views, _MOST_VIEWS + 1):
        folder = cache / f"views-{keeping.key_with(views)}"
        if (folder / "manifest.json").exists():
            return KeptViews(folder, keeping.views)
    return None


def keep(keeping: Keeping, cache: Path, progress: Callable[[int], None] = lambda done: None) -> KeptViews:
    """The kept views, built or completed first where needed; ``progress`` hears how many images are done."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _locked(cache / f"views-{keeping.key}.lock"):
            found = kept_already(keeping, cache)
            if found is None:
                _build(keeping, cache / f"views-{keeping.key}", progress)
    except OSError as error:
        raise UserError(f"cannot keep views in {cache}: {error.strerror}; give another folder with --cache") from error
    return found or KeptViews(cache / f"views-{keeping.key}")


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
                    block[np.array(rows) - done] = tensor.packed(state[place]).reshape(len(rows), -1)
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
