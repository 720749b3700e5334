"""A format is one file: it is found, offered on the command line and written; and none of it waits for torch."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from exported_runs import ROWS, photographed_run
from typer.testing import CliRunner

from legogcd.cli.export import To, export
from legogcd.export import FORMATS
from legogcd.export.format import export_format


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return photographed_run(tmp_path)


NEW_FORMAT = '''
"""Lines of path and category."""

from legogcd.export.format import Written, export_format


@export_format("lines", "one line per image", needs_images=False, single_file="lines.txt")
def write_lines(selection, out, settings):
    lines = [f"{item.name} is {item.category}" for item in selection.items]
    (out / "lines.txt").write_text("\\n".join(lines), encoding="utf-8")
    return Written((f"{len(lines)} lines",))
'''


def test_the_command_line_offers_every_format_and_reports(run: Path, tmp_path: Path) -> None:
    assert [to.value for to in To] == list(FORMATS)
    app = typer.Typer()
    app.command()(export)
    arguments = [
        run,
        "--to",
        "yolo-cls",
        "--out",
        tmp_path / "out",
        "--only",
        "known",
        "--only",
        "novel",
        "--link",
        "copy",
    ]
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    assert f"10 images in 5 categories written to {tmp_path / 'out'}; 3 left out as asked" in done.output
    assert "to validate with" in done.output


def in_a_new_process(program: str, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_new_file_is_all_a_new_format_needs(run: Path, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "lines_of_text.py").write_text(NEW_FORMAT)
    program = """if True:
        import sys
        from legogcd.export import formats
        formats.__path__.append(sys.argv.pop(1))
        formats.FORMATS |= formats.find_formats()
        from legogcd.cli import main
        main()
    """
    shown = in_a_new_process(program, tmp_path / "more", "export", "--help")
    assert "lines, one line per image" in " ".join(shown.split())
    out = tmp_path / "out.txt"
    said = in_a_new_process(program, tmp_path / "more", "export", run, "--to", "lines", "--out", out)
    assert f"{len(ROWS)} images in 5 categories written to {out}\n{len(ROWS)} lines\n" == said
    assert out.read_text(encoding="utf-8").split("\n")[0] == "a.jpg is owl, barn"


def test_two_formats_of_one_name_are_noticed() -> None:
    def write(*_: object) -> None: ...

    with pytest.raises(ValueError, match=r"two formats are called 'csv': legogcd\.export\.formats\.table and "):
        export_format("csv", "mine")(write)  # type: ignore[arg-type]


@pytest.mark.parametrize("to", FORMATS)
def test_no_export_waits_for_torch(to: str, run: Path, tmp_path: Path) -> None:
    program = """if True:
        import atexit, json, sys
        heavy = ("torch", "transformers", "sklearn", "matplotlib")
        atexit.register(lambda: print(json.dumps([name for name in heavy if name in sys.modules])))
        from legogcd.cli import main
        main()
    """
    said = in_a_new_process(program, "export", run, "--to", to, "--out", tmp_path / "out")
    assert json.loads(said.splitlines()[-1]) == []


def test_help_waits_for_nothing_heavy() -> None:
    program = "import sys, legogcd.cli; print([n for n in ('torch', 'pandas', 'numpy', 'PIL') if n in sys.modules])"
    assert in_a_new_process(program) == "[]\n"


def test_the_documentation_speaks_of_formats_there_are() -> None:
    text = (Path(__file__).parents[2] / "docs" / "exports.md").read_text(encoding="utf-8")
    sections = [line.removeprefix("### ") for line in text.splitlines() if line.startswith("### ")]
    assert sections
    assert set(sections) <= set(FORMATS)
