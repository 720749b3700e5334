"""What README and guide tell people to type works as it stands there, in its order, on a small collection."""

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from legogcd.cli import app
from legogcd.review import serve
from legogcd.run.categories import current

ROOT = Path(__file__).parents[2]
FEW = ("--image-size", 32, "--epochs", 1, "--views", 2, "--precision", "fp32")
CALM = ("--set", "projector_hidden=32", "--set", "learning_rate=0.0001")  # groups stay as k-means found them
SMALL = dict.fromkeys(("discover", "compare", "plan"), (*FEW, *CALM))  # so that it takes seconds
NOT_RUN = {  # by how they begin
    "python3 -m venv .venv": "the gate runs the one, and the demo is run by its own test",
    "legogcd reproduce": "needs the paper's data sets; its own tests make small ones",
    "legogcd figures": "needs runs of `reproduce`",
}
README = {
    "known": ("owl", "hawk", "finch"),
    "new": ("kite", "swan", "duck", "tern", "crow", "wren", "lark", "rook", "ibis"),
}
GUIDE = {
    "known": ("dress", "hat", "longsleeve", "outwear", "pants"),
    "new": ("shoes", "skirt", "shirt", "tee", "shorts"),
}


def commands(page: Path) -> list[str]:
    """The lines of the bash blocks, without comments."""
    blocks = re.findall(r"^```bash\n(.*?)^```", page.read_text("utf-8").replace("\\\n", " "), flags=re.M | re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line for line in lines if shlex.split(line, comments=True)]


def inline_commands(page: Path) -> list[str]:
    """What stands between backticks in a sentence and has more than a verb."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S)
    spans = [" ".join(span.split()) for span in re.findall(r"`(legogcd [^`]+)`", text)]
    return [span for span in spans if len(span.split()) > 2 and "…" not in span]


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def make(known: tuple[str, ...], new: tuple[str, ...]) -> None:
        """``photos`` with labels.csv, the same in folders as ``birds``, and an ``inbox``: one color per kind."""
        random, rows = np.random.default_rng(0), ["path,label"]
        for number, kind in enumerate([*known, *new]):
            color = np.array([(number * 97) % 256, (number * 151 + 60) % 256, (number * 211 + 120) % 256])
            for copy in range(6):
                pixels = np.clip(color + random.normal(0, 6, (32, 32, 3)), 0, 255).astype(np.uint8)
                for place in (f"photos/{kind}-{copy}.png", f"birds/{kind}/{copy}.png", f"inbox/{kind}-{copy}.png"):
                    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
                    Image.fromarray(pixels).save(tmp_path / place)
            rows += [f"{kind}-{copy}.png,{kind}" for copy in range(3) if kind in known]
        (tmp_path / "labels.csv").write_text("\n".join(rows) + "\n")
        (tmp_path / "decisions.csv").write_text(f"path,label\n{known[0]}-5.png,{known[0]}\n")
        monkeypatch.chdir(tmp_path)

    return make


def typed(line: str, tiny_vit: Path) -> list[str]:
    """A command's words, made small; placeholders of images become images of the group."""
    words = shlex.split(line, comments=True)[1:]
    if words[0] in SMALL:
        words += [*map(str, SMALL[words[0]]), "--backbone", str(tiny_vit), "--cache", "cache"]
    if words[0] == "split":
        table = current(Path(words[1]))
        images = iter(table.loc[table["category"] == words[2], "path"])
        words = [next(images) if re.fullmatch(r"[ab]\.jpg", word) else word for word in words]
    return words


@pytest.mark.parametrize(("page", "kinds"), [("README.md", README), ("docs/guide.md", GUIDE)])
def test_the_commands_of_a_page_run(
    page: str, kinds, collection, run_cli, tiny_vit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection(**kinds)
    opened: list[Path] = []
    monkeypatch.setattr(serve, "serve", lambda location, **_: opened.append(location.run))  # it has tests of its own
    ran = 0
    for line in commands(ROOT / page):
        if line.startswith(tuple(NOT_RUN)):
            continue
        words = typed(line, tiny_vit)
        if words[0] in ("discover", "compare") and words[words.index("--out") + 1] == "run":
            shutil.rmtree("run", ignore_errors=True)  # the page means one run, told of twice
        done = run_cli(*words)
        assert done.exit_code == 0, f"{line}\n{done.stderr}"
        ran += 1
    assert ran >= 10
    assert opened == [Path("run")] * len(opened)
    assert opened
    for made in ("run/report.html", "run/predictions.csv", "run2/predictions.csv", "inbox.csv"):
        assert Path(made).exists(), made


@pytest.mark.parametrize("page", ["README.md", *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/*.md"))])
def test_commands_in_sentences_are_whole(page: str) -> None:
    """`legogcd export run --to folders` without its --out would be one that cannot work."""
    from typer.main import get_command

    group = get_command(app)
    for span in [
        *inline_commands(ROOT / page),
        *(line for line in commands(ROOT / page) if line.startswith("legogcd")),
    ]:
        words = shlex.split(span.replace("RUN...", "RUN").replace("[…]", ""), comments=True)[1:]
        if words[0].startswith("-"):
            continue
        command = group.commands.get(words[0])
        assert command is not None, f"{page}: {span}"
        while hasattr(command, "commands") and words[1:]:
            command, words = command.commands[words[1]], words[1:]
        if {"--help", "-h"} & set(words):
            continue
        command.make_context(words[0], words[1:])


def test_the_readmes_two_marked_commands_are_there() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/legogcd demo\n" in text
    assert '<!-- test command -->\n```bash\npython3 -m venv .venv && .venv/bin/pip install -e ".[test]"' in text
