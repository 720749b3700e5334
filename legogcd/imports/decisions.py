"""What a file says images are, told by its own format; a path as the tool wrote it, and a category."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from legogcd.csv_text import parse_rows, unescape_name
from legogcd.errors import UserError
from legogcd.wording import printable

_PATHS = ("path", "filepath", "file", "filename", "image")  # columns that may name an image, the surest first
_LABELS = ("label", "category", "choice", "class", "ground_truth")
_EXPECTED = "expected a CSV with the columns path,label, a Label Studio export (JSON) or a FiftyOne one (labels.json)"


@dataclass(frozen=True)
class Decision:
    """``written`` is an image as the file names it; ``place`` where in the file, for messages."""

    written: str
    category: str
    place: str
    ending: bool = True  # False where the tool leaves the file's ending out
    settled: bool = True  # False where it may be a model's guess: only a change is somebody's decision


def read_decisions(name: str, text: str) -> tuple[str, list[Decision]]:
    """The tool a file is of, in words, and what it says; ``name`` is how messages call it."""
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise UserError(f"{printable(name)!r} is empty; {_EXPECTED}")
    if text.lstrip()[0] not in "[{":
        return "CSV", list(_csv(name, text))
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise UserError(f"{printable(name)!r} is not valid JSON; {_EXPECTED}") from None
    if isinstance(content, list):
        return "Label Studio", list(_label_studio(content))
    if isinstance(content.get("samples"), list):
        return "FiftyOne", list(_samples(content["samples"]))
    if isinstance(content.get("labels"), dict):
        return "FiftyOne", list(_classification(content))
    raise UserError(f"{printable(name)!r} is JSON of no tool that is known here; {_EXPECTED}")


def _csv(name: str, text: str) -> Iterator[Decision]:
    """path,label; or the table `legogcd export --to csv` writes, of which only what is settled or changed counts."""
    table = parse_rows(text, repr(printable(name)))
    header = [cell.strip().lower() for cell in next(table).cells]
    paths = [column for column in _PATHS if column in header]
    labels = [column for column in _LABELS if column in header]
    if not paths or not labels:
        raise UserError(f"{printable(name)!r} begins with {','.join(header)[:80]!r}; {_EXPECTED}")
    path, label = header.index(paths[0]), header.index(labels[0])
    guessed = header.index("settled") if "settled" in header else None
    for row in table:
        if not any(cell.strip() for cell in row.cells):
            continue
        if len(row.cells) != len(header):
            raise UserError(
                f"{printable(name)!r} line {row.line} has {len(row.cells)} cells, the header {len(header)}; "
                'put names that hold a comma in "quotes"'
            )
        category, written = row.cells[label].strip(), row.cells[path]
        if category:
            written = _path_in(written) if paths[0] == "image" else unescape_name(written)
            settled = guessed is None or row.cells[guessed].strip() == "1"
            yield Decision(written, category, f"line {row.line}", settled=settled)


def _label_studio(tasks: list[Any]) -> Iterator[Decision]:
    """JSON and JSON-MIN: https://labelstud.io/guide/export; of several annotations the last that was not skipped."""
    for number, task in enumerate(tasks, start=1):
        if not isinstance(task, dict):
            raise UserError(f"task {number} is not an object; expected an export of Label Studio")
        data = task["data"] if isinstance(task.get("data"), dict) else task
        category = _annotated(task) if "annotations" in task else _minimal(task)
        if category is None:
            continue
        written = data.get("path")
        if not isinstance(written, str):
            written = next((value for key in ("image", "img", "url") if isinstance(value := data.get(key), str)), None)
            written = _path_in(written) if written is not None else None
        if written is None:
            raise UserError(f"task {number} does not say which image it is about; expected data.image or data.path")
        yield Decision(unescape_name(written), category, f"task {number}")


def _annotated(task: dict[str, Any]) -> str | None:
    """The one choice of a task's last annotation."""
    annotations = task["annotations"] if isinstance(task["annotations"], list) else []
    for annotation in reversed(annotations):
        if isinstance(annotation, dict) and not annotation.get("was_cancelled"):
            results = annotation.get("result")
            for result in results if isinstance(results, list) else []:
                value = result.get("value") if isinstance(result, dict) else None
                choices = value.get("choices") if isinstance(value, dict) else None
                if isinstance(choices, list) and len(choices) == 1 and isinstance(choices[0], str):
                    return choices[0]
            return None
    return None


def _minimal(task: dict[str, Any]) -> str | None:
    """The choice in a task of JSON-MIN, which stands under the name its tag has."""
    for key in ("category", "choice", "label", "class"):
        value = task.get(key)
        if isinstance(value, dict) and isinstance(value.get("choices"), list) and len(value["choices"]) == 1:
            value = value["choices"][0]
        if isinstance(value, str) and value.strip():
            return value
    return None


def _classification(content: dict[str, Any]) -> Iterator[Decision]:
    """FiftyOneImageClassificationDataset: labels by path without ending, targets by number or by name."""
    classes = content.get("classes")
    for key, value in content["labels"].items():
        target = value.get("label") if isinstance(value, dict) else value
        if isinstance(value, dict) and "confidence" in value:
            continue  # a model's guess, not what somebody decided
        if isinstance(target, int) and not isinstance(target, bool) and isinstance(classes, list):
            if not 0 <= target < len(classes):
                raise UserError(f"the label of {printable(key)!r} is {target}, but there are {len(classes)} classes")
            target = classes[target]
        if isinstance(target, str) and target.strip():
            yield Decision(key, target, printable(key), ending=False)


def _samples(samples: list[Any]) -> Iterator[Decision]:
    """FiftyOneDataset's samples.json: the ground truth, or the only classification there is."""
    for number, sample in enumerate(samples, start=1):
        if not isinstance(sample, dict) or not isinstance(sample.get("filepath"), str):
            raise UserError(f"sample {number} has no filepath; expected samples.json of a FiftyOneDataset")
        found = {key: value for key, value in sample.items() if isinstance(value, dict) and "label" in value}
        chosen = found.get("ground_truth") or (next(iter(found.values())) if len(found) == 1 else None)
        if chosen is not None and isinstance(chosen["label"], str) and "confidence" not in chosen:
            yield Decision(sample["filepath"], chosen["label"], f"sample {number}")


def _path_in(address: str) -> str:
    """The path in a web address, in one of Label Studio's local files, or the text itself."""
    parts = urlsplit(address)
    local = parse_qs(parts.query).get("d")
    if local:
        return local[0]
    return unquote(parts.path, errors="surrogateescape") if parts.scheme in ("http", "https") else address
