"""name, merge, split, confirm and undo on the command line."""

from pathlib import Path

import pytest
import typer
from edited_run import write_run
from typer.testing import CliRunner

from legogcd.cli import edits as commands
from legogcd.errors import UserError
from legogcd.run.categories import confirmed_labels


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "my run")


app = typer.Typer()
for command in (commands.name, commands.merge, commands.split, commands.confirm, commands.undo):
    app.command()(command)


def call(*arguments: object) -> str:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=True)
    if isinstance(done.exception, UserError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout.strip()


def test_the_commands(run: Path, tmp_path: Path) -> None:
    assert call("undo", run, "--list") == "no edits yet"
    assert call("name", run, "new-003", "snowy owl").startswith("new-003 is now 'snowy owl' (3 images); undo with:")
    assert "new-001, new-004 merged into 'owl' (now 5 images)" in call("merge", run, "owl", "new-001", "new-004")
    assert "2 images moved from 'owl' to 'wren'" in call(
        "split", run, "owl", "--images", "a b.jpg", "c,d.jpg", "--into", "wren"
    )
    (tmp_path / "list.txt").write_bytes("\ufeff鳥/2.jpg\r\n\n".encode())
    assert "to new-005" in call("split", run, "snowy owl", "--file", tmp_path / "list.txt")
    assert "2 images of 'snowy owl'" in call("confirm", run, "snowy owl")
    assert "1 image of 'wren', 1 image of 'owl'" in call("confirm", run, "--images", "z.jpg", "a b.jpg")
    assert "1 image of new-005" in call("confirm", run, "--file", tmp_path / "list.txt")
    assert call("undo", run) == "took back edit 7: confirm 1 image of new-005"
    assert [line.split()[1] for line in call("undo", run, "--list").splitlines()] == [
        *("name", "merge", "split", "split", "confirm", "confirm", "confirm", "undo")
    ]
    assert confirmed_labels(run)["a b.jpg"] == "wren"


def test_commands_with_nothing_to_work_on(run: Path, tmp_path: Path) -> None:
    for arguments in (("confirm", run), ("split", run, "owl")):
        with pytest.raises(UserError, match="no image was given"):
            call(*arguments)
    with pytest.raises(UserError, match="cannot read --file"):
        call("confirm", run, "--file", tmp_path / "missing.txt")
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(UserError, match="is empty"):
        call("split", run, "owl", "--file", tmp_path / "empty.txt")
    with pytest.raises(UserError, match="does not hold a finished run"):
        call("undo", tmp_path, "--list")
