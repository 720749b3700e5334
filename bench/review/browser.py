"""A review server in a process of its own, and a browser in front of it."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextmanager
def server(run: Path, images: Path, cache: Path | None = None) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """The process and the address it printed."""
    command = [sys.executable, "-c", "from legogcd.cli import main; main()", "review", str(run), "--no-browser"]
    command += ["--images", str(images), *(["--cache", str(cache)] if cache else [])]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        yield process, _address(process)
    finally:
        process.terminate()
        process.wait()


def _address(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        found = re.search(r"http://\S+", line)
        if found:
            return found.group()
        said.append(line)
    raise SystemExit(f"the server did not start: {''.join(said)}")


@contextmanager
def browser_page(width: int = 1920, height: int = 1080) -> Iterator[Any]:
    """A page in Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_context(viewport={"width": width, "height": height}).new_page()
        page.set_default_timeout(60_000)
        yield page
        browser.close()
