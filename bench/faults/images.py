"""A real run over a folder of more than 500 bad images: none stops it, each one is sorted or listed with its reason."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from bench.faults.bad_images import all_bad_images
from bench.faults.trial import Trial
from legogcd.csv_text import read_rows


@dataclass(frozen=True)
class Sorted:
    """What a run did with bad images."""

    count: int
    code: int
    complaint: str
    reasons: Counter[str]
    sorted: int
    unlisted: list[str]
    peak: int
    seconds: float

    def rows(self) -> list[tuple[str, int, str]]:
        listed = ", ".join(f"{count} {reason}" for reason, count in self.reasons.most_common())
        outcome = f"exit code {self.code}; {self.sorted} could be read and were sorted, {self.reasons.total()} are in "
        outcome += f"skipped.csv ({listed}), {len(self.unlisted)} in neither; {self.seconds:.0f} s, "
        return [("bad images in one `discover`", self.count, outcome + f"at most {self.peak / 1e6:.0f} MB of memory")]

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "reasons": dict(self.reasons)}


def sort_bad_images(trial: Trial) -> Sorted:
    trial = replace(trial, epochs=1)
    names = []
    for name, content in all_bad_images():
        (trial.pictures / "bad").mkdir(exist_ok=True)
        (trial.pictures / "bad" / name).write_bytes(content)
        names.append(f"bad/{name}")
    trial.clear()
    done = trial.discover("--no-report")
    reasons, sorted_ = dict[str, str](), set[str]()
    if not done.code:
        rows = read_rows(trial.run / "skipped.csv", ("path", "reason"))
        reasons = {row.cells[0]: row.cells[1].split(" (")[0] for row in rows}
        header = ("path", "category", "status", "confidence", "predicted")
        sorted_ = {row.cells[0] for row in read_rows(trial.run / "predictions.csv", header)} & set(names)
    unlisted = [name for name in names if (name in reasons) == (name in sorted_)]
    return Sorted(
        len(names),
        done.code,
        done.complaint,
        Counter(reasons.values()),
        len(sorted_),
        unlisted,
        done.peak,
        done.seconds,
    )
