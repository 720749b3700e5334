"""Read images in a process of their own, with a time limit, and measure the memory each one takes."""

import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType

_KNOWN = ("read", "crash", "hang")


@dataclass(frozen=True)
class Read:
    """What reading one image did: ``read``, ``crash``, ``hang``, or the reason why it was refused."""

    outcome: str
    seconds: float = 0.0
    peak: int = 0  # bytes beyond what the process took before


class Reader:
    """A process that reads images; one that crashes or hangs is started again."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop()

    def read(self, path: Path, size_hint: int | None = None) -> Read:
        process = self._process or self._start()
        assert process.stdin is not None
        began = time.monotonic()
        try:
            process.stdin.write(json.dumps([str(path), size_hint]).encode() + b"\n")
            process.stdin.flush()
            answer = self._answer(process)
        except BrokenPipeError:
            answer = {"outcome": "crash"}
        if answer["outcome"] in _KNOWN[1:]:
            self._stop()
        return Read(answer["outcome"], time.monotonic() - began, answer.get("peak", 0))

    def _start(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-W", "ignore", "-m", "bench.faults.reading"]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        self._process = process
        assert process.stdout is not None
        process.stdout.readline()  # it is ready, its libraries loaded
        return process

    def _answer(self, process: "subprocess.Popen[bytes]") -> dict:
        assert process.stdout is not None
        if not select.select([process.stdout], [], [], self._seconds)[0]:
            return {"outcome": "hang"}
        line = process.stdout.readline()
        return json.loads(line) if line else {"outcome": "crash"}

    def _stop(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)  # the process and the copy of it that reads
            self._process.communicate()
            self._process = None


def main() -> None:
    from legogcd.vision import decode

    decode.Image.init()
    print("ready", flush=True)
    for line in sys.stdin:
        path, size_hint = json.loads(line)
        print(json.dumps(_apart(decode, Path(path), size_hint)), flush=True)


def _apart(decode: ModuleType, path: Path, size_hint: int | None) -> dict[str, str | int]:
    """Read one image in a copy of this process, so that its memory is measured alone."""
    incoming, outgoing = os.pipe()
    child = os.fork()
    if child == 0:
        before = _peak()
        try:
            decode.read_rgb(path, size_hint)
            outcome = "read"
        except decode.UnreadableImage as unreadable:
            outcome = unreadable.reason
        os.write(outgoing, json.dumps({"outcome": outcome, "peak": max(0, _peak() - before)}).encode())
        os._exit(0)
    os.close(outgoing)
    with open(incoming, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return json.loads(answer) if answer else {"outcome": "crash"}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main()
