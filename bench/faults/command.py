"""``legogcd`` in a copy of this process, which has its libraries loaded: a command starts at once, and may die."""

import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

OTHER_ERROR = 1  # the exit code of a traceback


@dataclass(frozen=True)
class Done:
    """How a command ended: its exit code, minus the signal where one ended it, and what it said."""

    code: int
    out: str
    err: str
    seconds: float
    peak: int  # bytes

    @property
    def complaint(self) -> str:
        """What it said last, without what it had to say before."""
        return self.err.strip().splitlines()[-1] if self.err.strip() else ""

    @property
    def is_one_line(self) -> bool:
        """Refused as a person should be told: exit code 2, one line of ours, no traceback."""
        ours = [line for line in self.err.splitlines() if line.startswith("legogcd: ")]
        return self.code == 2 and len(ours) == 1 and self.complaint == ours[0] and "Traceback" not in self.err


class Running:
    """A command that was started and not waited for."""

    def __init__(self, words: Sequence[str], before: Callable[[], None] | None = None) -> None:
        self._out, self._err = TemporaryFile(), TemporaryFile()  # noqa: SIM115 - closed by wait
        self._began = time.monotonic()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            _become(words, before, self._out, self._err)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> Done:
        _, status, used = os.wait4(self.pid, 0)
        code, seconds = os.waitstatus_to_exitcode(status), time.monotonic() - self._began
        texts = []
        for file in (self._out, self._err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace").replace("\r", "\n"))
            file.close()
        return Done(code, texts[0], texts[1], seconds, used.ru_maxrss * 1024)


def run(words: Sequence[str], before: Callable[[], None] | None = None) -> Done:
    """The command, to its end; ``before`` is called in its process first."""
    return Running(words, before).wait()


def load_libraries() -> None:
    """Pay for the imports once, and start no thread: a copy of a process has only one."""
    import torch

    torch.set_num_threads(1)
    import matplotlib.pyplot  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import sklearn.cluster
    import sklearn.manifold  # noqa: F401
    import torch._dynamo  # which the first optimizer imports

    import legogcd.cli
    import legogcd.export
    import legogcd.report.page
    import legogcd.run.checking
    import legogcd.run.figure_sample
    import legogcd.run.opening
    import legogcd.run.predict
    import legogcd.vision.backbones  # noqa: F401


def _become(words: Sequence[str], before: Callable[[], None] | None, out: IO[bytes], err: IO[bytes]) -> None:
    """In the copy: be the command, and never come back."""
    code = OTHER_ERROR
    try:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        sys.argv = ["legogcd", *words]
        if before is not None:
            before()
        from legogcd.cli import main

        main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


def bytes_below(folder: Path, but: Sequence[str] = ()) -> dict[str, bytes]:
    """Every file below a folder by name, hidden ones too."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in but
    }
