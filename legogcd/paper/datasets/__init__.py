"""The paper's eight data sets, read in their official layouts on disk."""

from legogcd.paper.datasets.catalog import DATASETS, dataset_named
from legogcd.paper.datasets.class_folders import imagenet100_classes
from legogcd.paper.datasets.dataset import Archive, DatasetSplit, PaperDataset, SplitName

__all__ = ["DATASETS", "Archive", "DatasetSplit", "PaperDataset", "SplitName", "dataset_named", "imagenet100_classes"]
