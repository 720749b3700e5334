"""A collection: images and the labels they have. Truth, which only scores, is a type of its own."""

from legogcd.collection.collection import UNLABELLED, Collection, Truth, unlabelled
from legogcd.collection.differences import CollectionRecord, Difference, what_differs
from legogcd.collection.folder_search import SUFFIXES, inside
from legogcd.collection.images import ImageArrays, ImageFiles, Images, as_images, find_images
from legogcd.collection.label_files import read_labels, read_truth
from legogcd.collection.look_alikes import look_alikes
from legogcd.collection.pixels import eight_bit, over_white
from legogcd.collection.python_inputs import images_and_labels
from legogcd.collection.sources import from_folders, from_labels, from_python_labels, from_sidecars, paper_draw

__all__ = [
    "SUFFIXES",
    "UNLABELLED",
    "Collection",
    "CollectionRecord",
    "Difference",
    "ImageArrays",
    "ImageFiles",
    "Images",
    "Truth",
    "as_images",
    "eight_bit",
    "find_images",
    "from_folders",
    "from_labels",
    "from_python_labels",
    "from_sidecars",
    "images_and_labels",
    "inside",
    "look_alikes",
    "over_white",
    "paper_draw",
    "read_labels",
    "read_truth",
    "unlabelled",
    "what_differs",
]
