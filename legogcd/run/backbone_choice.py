"""``--backbone auto``: the best backbone that is at hand, or that the person wants to have downloaded."""

from collections.abc import Callable
from dataclasses import dataclass

from legogcd.errors import UserError
from legogcd.run.effort import BUILT_IN
from legogcd.run.options import AUTO_BACKBONE, RunOptions
from legogcd.wording import human_bytes

Note = Callable[[str], None]


@dataclass(frozen=True)
class Download:
    """A backbone of the Hugging Face hub, how many bytes it is, and what it is called among people."""

    name: str
    size: int
    title: str

    @property
    def question(self) -> str:
        return f"Download {self.title} ({human_bytes(self.size)}), a stronger backbone than {BUILT_IN}?"


Ask = Callable[[Download], bool]
SMALL = Download("facebook/dinov2-small", 88_000_000, "DINOv2-S")
BASE = Download("facebook/dinov2-base", 346_000_000, "DINOv2-B")


def with_chosen_backbone(options: RunOptions, note: Note, ask: Ask | None = None) -> RunOptions:
    """The options with a backbone's name where they say ``auto``; without ``ask`` nothing is ever downloaded."""
    if options.backbone != AUTO_BACKBONE:
        return options
    return options.changed(backbone=_chosen(options.device, note, ask))


def _chosen(device: str, note: Note, ask: Ask | None) -> str:
    """DINOv2-B where a GPU computes, DINOv2-S elsewhere; the other one if only that is here; else what is built in."""
    import torch

    from legogcd.vision.backbones import hub

    on_gpu = device in ("cuda", "mps") or (device == "auto" and torch.cuda.is_available())
    wanted, second = (BASE, SMALL) if on_gpu else (SMALL, BASE)
    for candidate in (wanted, second):
        if hub.cached(candidate.name) is not None:
            note(f"backbone: {candidate.title}, which is on this machine")
            return candidate.name
    if ask is not None and ask(wanted):
        try:
            hub.fetch(wanted.name, bars=True)
            return wanted.name
        except UserError as error:
            note(f"backbone: {BUILT_IN}, because {error}")
            return BUILT_IN
    note(
        f"backbone: {BUILT_IN}; {wanted.title} is not on this machine "
        f"(--backbone {wanted.name} downloads {human_bytes(wanted.size)})"
    )
    return BUILT_IN
