"""Pixels to tokens: backbones cut into a frozen trunk and a trained tail, views of images, and views kept on disk."""

from legogcd.vision.backbones import Backbone, load_backbone
from legogcd.vision.views.encode import Encoder
from legogcd.vision.views.fresh import FreshViews
from legogcd.vision.views.kept import Keeping, KeptViews, keep

__all__ = ["Backbone", "Encoder", "FreshViews", "Keeping", "KeptViews", "keep", "load_backbone"]
