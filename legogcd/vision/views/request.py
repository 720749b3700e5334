"""Which views to have: of which images, through which trunk, how many, drawn from which seed, stored how."""

import copy
import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from legogcd.collection import Images
from legogcd.errors import UserError
from legogcd.vision.views import shards
from legogcd.vision.views.draw import evaluation_view, random_view
from legogcd.vision.views.encode import BATCH_VIEWS, Encoder
from legogcd.vision.views.shards import Layout, Shard
from legogcd.vision.views.tensor_format import KEPT_DTYPES, StoredTensor

_FORMAT = 3  # 2 was one file per tensor; resized pixels of 1 differ in the last bit


class ViewRequest:
    """``views`` random views of every image and the evaluation view, which depend on ``seed`` and row alone."""

    def __init__(
        self,
        encoder: Encoder,
        images: Images,
        views: int,
        seed: int = 0,
        dtype: str = "bf16",
        by_content: bool = False,
    ) -> None:
        if views == 1 or views < 0:
            raise UserError(f"views = {views}: a step needs two different views of an image, so 2 or more")
        if dtype not in KEPT_DTYPES:
            raise UserError(f"views cannot be kept as {dtype!r}; there are: {', '.join(KEPT_DTYPES)}")
        self.encoder, self.images, self.views, self.seed, self.dtype = encoder, images, views, seed, dtype
        self.by_content = by_content

    def with_views(self, views: int) -> "ViewRequest":
        """The same with another number of views."""
        _ = self.tensors, self._fingerprint  # which take time, and are found once for both
        other = copy.copy(self)
        other.views = views
        other.__dict__.pop("layout", None)
        return other

    @cached_property
    def tensors(self) -> tuple[StoredTensor, ...]:
        """The state's tensors and their shapes, found by encoding one blank view."""
        backbone = self.encoder.backbone
        state = self.encoder.trunk(np.zeros((1, backbone.image_size, backbone.image_size, 3), np.uint8))
        return tuple(
            StoredTensor(name, tuple(tensor.shape[1:]), self.dtype if half else "fp32")
            for name, tensor, half in zip(backbone.state_names, state, backbone.half, strict=True)
        )

    @property
    def bytes_per_view(self) -> int:
        return sum(tensor.bytes_per_view for tensor in self.tensors)

    @property
    def size_on_disk(self) -> int:
        """Bytes that the views take, known before anything is written."""
        return len(self.images) * (1 + self.views) * self.bytes_per_view

    @property
    def images_per_batch(self) -> int:
        return max(1, BATCH_VIEWS // (1 + self.views))

    @cached_property
    def layout(self) -> Layout:
        """Shards are whole batches: which images meet in the trunk does not depend on the order of the shards."""
        fitting = min(shards.SHARD_IMAGES, shards.SHARD_BYTES // ((1 + self.views) * self.bytes_per_view))
        batches = max(1, fitting // self.images_per_batch)
        return Layout(self.tensors, 1 + self.views, len(self.images), batches * self.images_per_batch)

    def shards(self) -> list[Shard]:
        return self.layout.shards()

    @property
    def manifest(self) -> dict[str, Any]:
        """Everything the stored bytes depend on, as JSON reads it."""
        backbone = self.encoder.backbone
        described = {
            "format": _FORMAT,
            "backbone": backbone.name,
            "weights": backbone.fingerprint(),
            "image_size": backbone.image_size,
            "train_blocks": backbone.train_blocks,
            "normalization": [*backbone.mean, *backbone.std],
            "precision": self.encoder.precision,
            "images": self._fingerprint,
            "seed": self.seed,
            **self.layout.described(),
            **({"decode": "full"} if self.encoder.rule.full_decode else {}),
            **({"revision": backbone.trunk.revision} if backbone.trunk.revision > 1 else {}),
        }
        manifest: dict[str, Any] = json.loads(json.dumps(described))
        return manifest

    @cached_property
    def _fingerprint(self) -> str:
        return self.images.fingerprint(content=True) if self.by_content else self.images.fingerprint()

    @property
    def key(self) -> str:
        """A short name for the manifest: anything that differs in it gives another one."""
        return hashlib.sha256(json.dumps(self.manifest, sort_keys=True).encode()).hexdigest()[:20]

    def folder(self, cache: Path) -> Path:
        return cache / f"views-{self.key}"

    def crop(self, row: int, image: np.ndarray) -> np.ndarray:
        """The evaluation view and V random ones, which depend on seed and row alone: [1 + V, S, S, 3]."""
        random, rule = np.random.default_rng((self.seed, row)), self.encoder.rule
        return np.stack([evaluation_view(image, rule), *(random_view(image, rule, random) for _ in range(self.views))])
