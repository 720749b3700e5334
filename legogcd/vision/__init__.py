"""Pixels to tokens: backbones cut into a frozen trunk and a trained tail, views of images, and views kept on disk."""

from legogcd.vision.backbones import Backbone, load_backbone
from legogcd.vision.cache import Keeping, KeptViews, keep
from legogcd.vision.encode import Encoder
from legogcd.vision.fresh import FreshViews

__all__ = ["Backbone", "Encoder", "FreshViews", "Keeping", "KeptViews", "keep", "load_backbone"]
