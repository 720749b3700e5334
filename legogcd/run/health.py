"""What a machine has for legogcd: versions, devices, caches, the hub; and what would be worth installing."""

import importlib.metadata
import os
import platform
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable
from importlib.util import find_spec

from legogcd.files import cache_folder
from legogcd.run.backbone_choice import BASE, SMALL
from legogcd.run.cache import folder_size, kept_things
from legogcd.version import __version__
from legogcd.wording import counted, human_bytes

_PACKAGES = ("torch", "transformers", "scikit-learn", "numpy", "pillow", "pandas", "pyarrow", "typer")
_OPTIONAL = {  # module: package, what it is for
    "pillow_heif": ("pillow-heif", "HEIC photos"),
    "rawpy": ("rawpy", "camera raw files"),
}
_SECONDS = 3.0


def look() -> dict[str, list[str]]:
    """Everything worth knowing, in lines under headings."""
    return {
        "versions": _versions(),
        "devices": _devices(),
        "kept on disk": _kept(),
        "backbones": _backbones(),
        "worth installing": _missing() or ["nothing is missing"],
    }


def _versions() -> list[str]:
    lines = [
        f"legogcd {__version__}",
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}",
    ]
    return [*lines, ", ".join(f"{name} {_version(name)}" for name in _PACKAGES)]


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "is missing"


def _devices() -> list[str]:
    import torch

    from legogcd.run.runtime import open_runtime

    lines = [f"CPU: {counted(os.cpu_count() or 1, 'core')}, {counted(torch.get_num_threads(), 'thread')} by default"]
    lines += [f"CUDA: {torch.cuda.get_device_name(number)}" for number in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        lines.append("MPS: Apple's GPU")
    return [*lines, f"--device auto computes on {open_runtime().describe()}"]


def _kept() -> list[str]:
    home = cache_folder()
    things = kept_things(home)
    stale = sum(thing.size for thing in things if thing.stale)
    there = next(path for path in (home, *home.parents) if path.exists())
    lines = [f"{home}: {human_bytes(folder_size(home))} in {counted(len(things), 'collection')} (legogcd cache list)"]
    if stale:
        lines.append(f"of it {human_bytes(stale)} of no use any more: legogcd cache prune")
    return [*lines, f"free there: {human_bytes(shutil.disk_usage(there).free)}"]


def _backbones() -> list[str]:
    from legogcd.vision.backbones import hub

    lines = ["efficientnet-lite0: built in"]
    for known in (SMALL, BASE):
        state = "on this machine" if hub.cached(known.name) else f"not here ({human_bytes(known.size)} to download)"
        lines.append(f"{known.name}: {state}")
    return [*lines, f"Hugging Face hub: {'can be reached' if hub_answers() else 'cannot be reached from here'}"]


def hub_answers(open_: Callable[..., object] = urllib.request.urlopen) -> bool:
    """One short question; nothing is downloaded."""
    from huggingface_hub.constants import ENDPOINT, HF_HUB_OFFLINE

    if HF_HUB_OFFLINE or not ENDPOINT.startswith("https://"):
        return False
    try:
        open_(urllib.request.Request(ENDPOINT, method="HEAD"), timeout=_SECONDS)
    except urllib.error.HTTPError:
        return True  # it does not like the question, but it is there
    except (OSError, ValueError):
        return False
    return True


def _missing() -> list[str]:
    return [
        f"pip install {package}: {purpose}"
        for module, (package, purpose) in _OPTIONAL.items()
        if find_spec(module) is None
    ]
