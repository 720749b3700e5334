"""Questions to the person at the terminal, each asked once: what was answered no is not asked again."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from platformdirs import user_state_path

if TYPE_CHECKING:
    from legogcd.run.backbone_choice import Download


def may_download(download: "Download") -> bool:
    """Whether a backbone may be downloaded; never without a person who says so."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()) or download.name in _refused():
        return False
    if typer.confirm(download.question, default=False, err=True):
        return True
    _remember([*_refused(), download.name])
    return False


def _answers() -> Path:
    return user_state_path("legogcd") / "answers.json"


def _refused() -> list[str]:
    try:
        answers = json.loads(_answers().read_text("utf-8"))
        return [str(name) for name in answers["not to be downloaded"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _remember(refused: list[str]) -> None:
    from legogcd.files import write_text

    try:
        write_text(_answers(), json.dumps({"not to be downloaded": refused}) + "\n")
    except OSError:
        return  # then it is asked again
