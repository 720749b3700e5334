"""A collection: images and the labels they have. Truth, which only scores, is a type of its own."""

from legogcd.collection.collection import UNLABELLED, Collection, Truth, unlabelled
from legogcd.collection.differences import CollectionRecord, Difference, what_differs
from legogcd.collection.folder_search import SUFFIXES, inside
from legogcd.collection.images import ImageArrays, ImageFiles, Images, Searched, as_images, find_images, images_at
from legogcd.collection.label_files import read_labels, read_truth
from legogcd.collection.look_alikes import look_alikes
from legogcd.collection.object_store import ImageObjects, as_url
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
    "ImageObjects",
    "Images",
    "Searched",
    "Truth",
    "as_images",
    "as_url",
    "eight_bit",
    "find_images",
    "from_folders",
    "from_labels",
    "from_python_labels",
    "from_sidecars",
    "images_and_labels",
    "images_at",
    "inside",
    "look_alikes",
    "over_white",
    "paper_draw",
    "read_labels",
    "read_truth",
    "unlabelled",
    "what_differs",
]
