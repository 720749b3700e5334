"""Views encoded anew whenever they are asked for: the yardstick for kept ones, and the way out when disk is short."""

import numpy as np
import torch
from torch import Tensor

from legogcd.collection import Images
from legogcd.errors import UserError
from legogcd.vision.tail import State
from legogcd.vision.views.draw import evaluation_view, random_view
from legogcd.vision.views.encode import BATCH_VIEWS, Cropper, Encoder
from legogcd.vision.views.kept import KeptViews
from legogcd.vision.views.source import ALL


class FreshViews:
    """A source of views that reads the images each time; evaluation views come from ``kept`` where there are some."""

    def __init__(self, encoder: Encoder, images: Images, kept: KeptViews | None = None) -> None:
        self.encoder, self.images, self.kept = encoder, images, kept

    def pair(self, rows: Tensor, generator: torch.Generator, part: slice = ALL) -> State:
        """As `KeptViews.pair`, with crops nobody has seen before."""
        seeds = torch.randint(2**62, (2, len(rows)), generator=generator)[:, part].tolist()

        def crop(place: int, image: np.ndarray) -> np.ndarray:
            randoms = (np.random.default_rng(of_view[place]) for of_view in seeds)
            return np.stack([random_view(image, self.encoder.rule, random) for random in randoms])

        state = self._encode(rows[part], crop, views=2)  # [B·2, ...], an image's views side by side
        return tuple(part.view(-1, 2, *part.shape[1:]).transpose(0, 1).flatten(0, 1) for part in state)

    def evaluation(self, rows: Tensor) -> State:
        """As `KeptViews.evaluation`."""
        if self.kept is not None:
            return self.kept.evaluation(rows)
        return self._encode(rows, lambda place, image: evaluation_view(image, self.encoder.rule)[None], views=1)

    def _encode(self, rows: Tensor, crop: Cropper, views: int) -> State:
        picked = self.images.subset(rows.tolist())
        batches: list[State] = []
        for _, state, bad in self.encoder.stream(picked, range(len(picked)), crop, BATCH_VIEWS // views):
            for place, reason in bad.items():
                raise UserError(f"{picked.names[place]} can no longer be read ({reason}); run again without it")
            if state is not None:
                batches.append(state)
        return tuple(torch.cat(parts) for parts in zip(*batches, strict=True))
