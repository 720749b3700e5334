"""Pixels to tokens: backbones cut into a frozen trunk and a trained tail, views of images, and views kept on disk.

What is named here is loaded when it is first used: reading a picture needs no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from legogcd.vision.backbones import Backbone, load_backbone
    from legogcd.vision.views.encode import Encoder
    from legogcd.vision.views.fresh import FreshViews
    from legogcd.vision.views.kept import KeptViews
    from legogcd.vision.views.request import ViewRequest
    from legogcd.vision.views.store import check_kept, encode_missing, find_kept

__all__ = [
    "Backbone",
    "Encoder",
    "FreshViews",
    "KeptViews",
    "ViewRequest",
    "check_kept",
    "encode_missing",
    "find_kept",
    "load_backbone",
]

_HOME = {
    "Backbone": "backbones",
    "load_backbone": "backbones",
    "Encoder": "views.encode",
    "FreshViews": "views.fresh",
    "KeptViews": "views.kept",
    "ViewRequest": "views.request",
    "check_kept": "views.store",
    "encode_missing": "views.store",
    "find_kept": "views.store",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
