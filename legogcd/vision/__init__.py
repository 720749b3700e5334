"""Pixels to tokens: backbones cut into a frozen trunk and a trained tail, views of images, and views kept on disk."""

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
