"""The house in numbers, for any checkouts: ``python -m bench.house [PATH …]`` prints one Markdown table.

Code    The longest function (lines of its def, docstring included), the most parameters of one (without self and cls),
        lines of Python, and duplicated runs: stretches of six or more lines of code (no comments, docstrings, imports)
        that stand in the package more than once, each copy counted.
Adding  How many files of the package name an existing example: one whose code has an identifier or a whole string that
        is the name of its module, of the option, or of a public function or class of the example's own file with that
        name in it; templates and JSON files count as well. The own file is one of them. ``--names`` lists them.
Way     What an image passes in ``legogcd discover``: the run is made twice, with 8 and with 264 small pictures, and a
        function of the package is on the way if it is entered more often with 264, and at least twice.
        From the first line of the command to the moment predictions.csv, or report.html, gets its name. Lambdas and
        comprehensions belong to the function around them. Functions that repeat for other reasons, like iterations of
        k-means, count where they happen to repeat more often.

Nothing of the package is imported here: what must run, runs in processes that have PATH in front of their search path.
"""

import argparse
import ast
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

PACKAGE, RUN_LINES = "legogcd", 6
FEW, MANY, SIDE = 8, 264, 32  # pictures of the two runs: one batch of everything (256 at most), and more than one
DISCOVER = "pictures --labels folders --known a,b --out run --cache cache --views 2 --epochs 1 --threads 1 --device cpu"
GOALS = ("predictions.csv", "report.html")
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Example(NamedTuple):
    """Something that was added once; its own file has ``stem``, an option has none."""

    kind: str
    name: str
    stem: str = ""


EXAMPLES = (
    Example("brick", "consensus", "consensus_distillation"),
    Example("backbone family", "efficientnet", "efficientnet"),
    Example("export", "coco", "coco"),
    Example("run option", "held_out"),
    Example("run option", "kept_dtype"),
    Example("method", "orca", "orca"),
    Example("data set", "cub", "cub"),
)


def main() -> None:
    options = read_options()
    if options.traced:
        return trace(options.paths[0], options.traced)
    houses = [House(path.resolve()) for path in options.paths]
    columns = [dict(figures(house)) for house in houses]
    print(f"| | {' | '.join(str(path) for path in options.paths)} |\n|---|{'--:|' * len(columns)}")
    for row in columns[0]:
        print(f"| {row} | {' | '.join(column[row] for column in columns)} |")
    if options.names:
        for path, house in zip(options.paths, houses, strict=True):
            print_names(path, house)
    return None


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.house", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path, default=[Path()], metavar="PATH", help="a checkout; default: .")
    parser.add_argument("--names", action="store_true", help="list the files and functions that were counted")
    parser.add_argument("--traced", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def figures(house: "House") -> Iterator[tuple[str, str]]:
    """A row's name and its figure, in the table's order."""
    for goal in GOALS:
        way = house.way[goal]
        files = len({name.partition(":")[0] for name in way})
        yield f"an image's way to {goal}", f"{len(way)} functions in {files} files"
    for example in EXAMPLES:
        yield f"files that name one {example.kind} (`{example.name}`)", str(len(house.files_naming(example)))
    lines, where = max((node.end_lineno - node.lineno + 1, where) for where, node in house.functions if node.end_lineno)
    yield "longest function", f"{lines} lines, `{where}`"
    most, where = max((count_parameters(node), where) for where, node in house.functions)
    yield "most parameters of a function", f"{most}, `{where}`"
    runs = house.duplicated_runs
    yield f"duplicated runs of {RUN_LINES} or more lines", f"{len(runs)}, {sum(lines for _, lines in runs)} lines"
    yield "lines of the package", f"{house.count_lines(PACKAGE):,}"
    yield "lines of the tests", f"{house.count_lines('tests'):,}"
    yield "tests", f"{house.count_tests():,}"


def print_names(path: Path, house: "House") -> None:
    print(f"\n{path}")
    for example in EXAMPLES:
        print(f"- {example.kind} `{example.name}`: {', '.join(house.files_naming(example))}")
    for goal in GOALS:
        print(f"- to {goal}: {', '.join(house.way[goal])}")
    for where, lines in house.duplicated_runs:
        print(f"- {lines} duplicated lines from {where}")


@dataclass(frozen=True)
class House:
    """A checkout of the project."""

    root: Path

    @cached_property
    def sources(self) -> dict[str, str]:
        """The package's Python files by their path in it."""
        package = self.root / PACKAGE
        return {path.relative_to(package).as_posix(): path.read_text("utf-8") for path in sorted(package.rglob("*.py"))}

    @cached_property
    def trees(self) -> dict[str, ast.Module]:
        return {name: ast.parse(text) for name, text in self.sources.items()}

    @cached_property
    def functions(self) -> list[tuple[str, Function]]:
        """Every function of the package, and where it is."""
        return [
            (f"{name}:{node.name}", node)
            for name, tree in self.trees.items()
            for node in ast.walk(tree)
            if isinstance(node, Function)
        ]

    def files_naming(self, example: Example) -> list[str]:
        """The files of the package in whose code an example is named."""
        wanted = {example.name, f"--{example.name.replace('_', '-')}"}
        if example.stem:
            own = next(name for name in self.trees if Path(name).stem == example.stem)
            wanted |= {
                example.stem,
                *(found for found in public_names(self.trees[own]) if example.name in found.lower()),
            }
        found = [name for name, text in self.sources.items() if not wanted.isdisjoint(words(text))]
        package = self.root / PACKAGE
        for path in sorted(path for path in package.rglob("*") if path.suffix in (".json", ".jinja", ".js")):
            said = json_words(path) if path.suffix == ".json" else set(re.findall(r"[\w-]+", path.read_text("utf-8")))
            if not wanted.isdisjoint(said):
                found.append(path.relative_to(package).as_posix())
        return found

    @cached_property
    def duplicated_runs(self) -> list[tuple[str, int]]:
        """Where duplicated runs begin, and how many lines of code they have."""
        code = {name: list(code_lines(text, self.trees[name])) for name, text in self.sources.items()}
        seen: Counter[tuple[str, ...]] = Counter()
        for lines in code.values():
            seen.update(window for _, window in windows(lines))
        runs = []
        for name, lines in code.items():
            twice = [begin for begin, window in windows(lines) if seen[window] > 1]
            for begin in (begin for begin in twice if begin - 1 not in twice):
                length = RUN_LINES
                while begin + length - RUN_LINES + 1 in twice:
                    length += 1
                runs.append((f"{name}:{lines[begin][0]}", length))
        return runs

    def count_lines(self, folder: str) -> int:
        return sum(len(path.read_bytes().splitlines()) for path in (self.root / folder).rglob("*.py"))

    def count_tests(self) -> int:
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
        done = subprocess.run(command, cwd=self.root, env=self._environment, capture_output=True, text=True)
        found = re.search(r"^(\d+) tests? collected", done.stdout, re.MULTILINE)
        if not found:
            sys.exit(f"pytest found no tests in {self.root}: {done.stdout[-500:]}{done.stderr[-500:]}")
        return int(found[1])

    @cached_property
    def way(self) -> dict[str, list[str]]:
        """By file that is written: the functions that are entered more often for more images."""
        few, many = self._entered(FEW), self._entered(MANY)
        return {
            goal: sorted(name for name, count in many[goal].items() if count > max(1, few[goal].get(name, 0)))
            for goal in GOALS
        }

    def _entered(self, pictures: int) -> dict[str, dict[str, int]]:
        command = [sys.executable, __file__, str(self.root), "--traced", str(pictures)]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"the traced run of {self.root} failed:\n{done.stdout[-1000:]}{done.stderr[-3000:]}")
        entered: dict[str, dict[str, int]] = json.loads(done.stdout.splitlines()[-1])
        return entered

    @property
    def _environment(self) -> dict[str, str]:
        return os.environ | {"PYTHONPATH": str(self.root), "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}


def count_parameters(node: Function) -> int:
    given = node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return sum(one is not None and one.arg not in ("self", "cls") for one in every)


def public_names(tree: ast.Module) -> set[str]:
    defined = [node.name for node in tree.body if isinstance(node, Function | ast.ClassDef)]
    return {name for name in defined if not name.startswith("_")}


def words(text: str) -> set[str]:
    """Identifiers, and strings whole."""
    found = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME:
            found.add(token.string)
        elif token.type == tokenize.STRING and len(token.string) < 80 and token.string[0] in "\"'":
            found.add(ast.literal_eval(token.string))
    return found


def json_words(path: Path) -> set[str]:
    """Keys and texts, whole."""
    found: set[str] = set()

    def look(value: Any) -> None:
        if isinstance(value, dict):
            found.update(value)
            value = list(value.values())
        if isinstance(value, list):
            for each in value:
                look(each)
        elif isinstance(value, str):
            found.add(value)

    look(json.loads(path.read_text("utf-8")))
    return found


def code_lines(text: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Numbers and content of the lines that are code: no comments, docstrings or imports."""
    left_out = set()
    for node in (node for node in ast.walk(tree) if isinstance(node, ast.stmt)):
        is_text = (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        if isinstance(node, ast.Import | ast.ImportFrom) or is_text:
            left_out |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    for number, line in enumerate(text.splitlines(), 1):
        code = " ".join(re.sub(r"\s+#.*$", "", line).split())
        if code and not code.startswith("#") and number not in left_out:
            yield number, code


def windows(lines: list[tuple[int, str]]) -> Iterator[tuple[int, tuple[str, ...]]]:
    for begin in range(len(lines) - RUN_LINES + 1):
        yield begin, tuple(code for _, code in lines[begin : begin + RUN_LINES])


def trace(root: Path, pictures: int) -> None:
    """In a process of its own: run the command and print, by file that is written, how often what was entered."""
    tracer = Tracer(root.resolve() / PACKAGE)
    with tempfile.TemporaryDirectory() as folder:
        write_pictures(Path(folder) / "pictures", pictures)
        os.chdir(folder)
        sys.argv = [PACKAGE, "discover", *DISCOVER.split(), "--image-size", str(SIDE)]
        from legogcd.cli import main as command

        tracer.start()
        try:
            command()
        except SystemExit as ended:
            if ended.code:
                sys.exit(f"the command ended with {ended.code}")
        tracer.stop()
    print(f"\n{json.dumps(tracer.reached)}")


def write_pictures(folder: Path, count: int) -> None:
    """Noise around one color in each of three classes."""
    import numpy as np
    from PIL import Image

    random = np.random.default_rng(0)
    for number in range(count):
        place = folder / "abc"[number % 3] / f"{number:04d}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        pixels = random.integers(0, 120, (SIDE, SIDE, 3), np.uint8)
        pixels[..., number % 3] += 120
        Image.fromarray(pixels).save(place)


class Tracer:
    """Counts how often each function of a package is entered, in every thread, from the command's own function on."""

    def __init__(self, package: Path) -> None:
        self.package, self.begun = package, False
        self.counts: defaultdict[CodeType, int] = defaultdict(int)
        self.reached: dict[str, dict[str, int]] = {}

    def start(self) -> None:
        sys.addaudithook(self._written)
        threading.setprofile(self._entered)
        sys.setprofile(self._entered)

    def stop(self) -> None:
        self.begun = False  # an audit hook cannot be taken away
        sys.setprofile(None)
        threading.setprofile(None)

    def _entered(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            code = frame.f_code
            if not self.begun:
                self.begun = code.co_name == "discover" and code.co_filename == str(
                    self.package / "cli" / "discover.py"
                )
            if self.begun:
                self.counts[code] += 1

    def _written(self, event: str, arguments: tuple[Any, ...]) -> None:
        """A file gets its name by a rename, or is opened under it."""
        if event in ("os.rename", "open") and self.begun:
            target = Path(os.fsdecode(arguments[event == "os.rename"])) if not isinstance(arguments[0], int) else Path()
            writing = event == "os.rename" or "w" in str(arguments[1])
            if writing and target.name in GOALS:
                self.reached[target.name] = self._of_package()

    def _of_package(self) -> dict[str, int]:
        found: Counter[str] = Counter()
        for code, count in list(self.counts.items()):
            path = Path(code.co_filename)
            if path.is_relative_to(self.package) and not code.co_name.startswith("<"):
                found[f"{path.relative_to(self.package).as_posix()}:{code.co_qualname}"] += count
        return dict(found)


if __name__ == "__main__":
    main()
