"""Model files from the Hugging Face hub: the local cache first, one quick question before any download."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from legogcd.errors import UserError
from legogcd.files import parse_json

CONFIG = "config.json"
PREPROCESSORS = ("preprocessor_config.json", "processor_config.json")
WEIGHTS = (  # in order of preference; an index lists its shards
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
OFFLINE_HINT = "--backbone efficientnet-lite0 works offline"
_SECONDS = 10.0


@contextmanager
def quiet() -> Iterator[None]:
    """No warnings and no progress bars from the libraries: what matters is raised."""
    from huggingface_hub.utils import logging as hub_log
    from transformers.utils import logging as model_log

    verbosities, bars = (model_log.get_verbosity(), hub_log.get_verbosity()), model_log.is_progress_bar_enabled()
    model_log.set_verbosity(logging.ERROR)
    hub_log.set_verbosity(logging.ERROR)
    model_log.disable_progress_bar()
    try:
        yield
    finally:
        model_log.set_verbosity(verbosities[0])
        hub_log.set_verbosity(verbosities[1])
        if bars:
            model_log.enable_progress_bar()


def fetch(name: str, bars: bool = False) -> Path:
    """The local folder that holds a hub model's configuration and weights, downloaded where they are not there yet.

    With ``bars`` the hub's own library shows how far a download is.
    """
    if bars:
        return cached(name) or _download(name)
    with quiet():
        return cached(name) or _download(name)


def cached(name: str) -> Path | None:
    """The cached snapshot if it is whole, that is, if nothing about it would have to be asked."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        known = {file: try_to_load_from_cache(name, file) for file in (CONFIG, *PREPROCESSORS, *WEIGHTS)}
    except HFValidationError:
        return None
    found = {file: Path(path) for file, path in known.items() if isinstance(path, str)}
    unknown = [file for file in PREPROCESSORS if known[file] is None]  # neither there nor known not to exist
    if unknown and not any(file in found for file in PREPROCESSORS):
        return None
    weights = [found[file] for file in WEIGHTS if file in found]
    if CONFIG not in found or not weights or not all(shard.exists() for shard in _shards(weights[0])):
        return None
    return found[CONFIG].parent


def _download(name: str) -> Path:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import RemoteEntryNotFoundError

    files = _listed(name)
    weights = next((file for file in WEIGHTS if file in files), None)
    if CONFIG not in files or weights is None:
        raise UserError(f"{name} on the Hugging Face hub has no {CONFIG if CONFIG not in files else 'weights'} to load")
    try:
        folder = Path(hf_hub_download(name, CONFIG)).parent
        for file in PREPROCESSORS:
            try:
                hf_hub_download(name, file)
                break
            except RemoteEntryNotFoundError:  # the cache now remembers that there is none
                continue
        for shard in _shards(Path(hf_hub_download(name, weights))):
            hf_hub_download(name, shard.name)
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{name} could not be downloaded ({_first_line(error)}); {OFFLINE_HINT}") from error
    return folder


def _listed(name: str) -> set[str]:
    """The files of a hub model, in one request without retries: out of reach is known in seconds."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, HFValidationError, RepositoryNotFoundError

    try:
        listing = HfApi().model_info(name, timeout=_SECONDS)
    except GatedRepoError as error:
        raise UserError(f"{name} is gated: accept its terms on the hub and log in; {OFFLINE_HINT}") from error
    except RepositoryNotFoundError as error:
        raise UserError(f"the Hugging Face hub has no model {name!r} (or it is private); {OFFLINE_HINT}") from error
    except HFValidationError as error:
        raise UserError(
            f"unknown backbone {name!r}: neither a file or folder here nor the form of a hub id; {OFFLINE_HINT}"
        ) from error
    except Exception as error:
        raise UserError(
            f"{name} is not whole in the local cache and the Hugging Face hub is out of reach "
            f"({_first_line(error)}); {OFFLINE_HINT}"
        ) from error
    return {sibling.rfilename for sibling in listing.siblings or ()}


def _shards(weights: Path) -> list[Path]:
    """The files an index refers to, beside it; none for a file that holds the weights itself."""
    if weights.suffix != ".json":
        return []
    try:
        index = parse_json(weights.read_bytes())
        return [weights.parent / file for file in sorted(set(index["weight_map"].values()))]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{weights} is not an index of weight files") from error


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:120]
