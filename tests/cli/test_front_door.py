"""The first minutes with the command line: help, version, how loud it is, what it refuses before it loads anything."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from legogcd.cli import asking
from legogcd.run.backbone_choice import BASE, SMALL, with_chosen_backbone
from legogcd.run.options import RunOptions
from legogcd.vision.backbones import hub

FAST = ("--image-size", 32, "--device", "cpu", "--precision", "fp32", "--views", 2, "--epochs", 1)
SMALL_STEPS = ("--set", "projector_hidden=32", "--set", "batch_size=16")


@pytest.fixture
def labels(pictures: Path, tmp_path: Path) -> Path:
    rows = [f"{color}/{number:02d}.png,{color}" for color in ("blue", "green") for number in range(4)]
    path = tmp_path / "labels.csv"
    path.write_text("\n".join(["path,label", *rows]) + "\n")
    return path


@pytest.fixture
def common(tiny_vit: Path, tmp_path: Path) -> tuple[object, ...]:
    return ("--backbone", tiny_vit, "--cache", tmp_path / "cache", *FAST, *SMALL_STEPS)


def test_version_and_short_help(run_cli) -> None:
    assert re.fullmatch(r"legogcd \d+\.\d+\.\d+\n", run_cli("--version").stdout)
    assert run_cli("-h").stdout == run_cli("--help").stdout == run_cli().stdout
    assert "--overwrite" in run_cli("predict", "-h").stdout


def test_no_summary_is_cut(run_cli) -> None:
    shown = " ".join(run_cli().stdout.split())
    assert "..." not in shown.replace("COMMAND [ARGS]...", "")
    for verb in ("discover", "doctor", "cache", "undo", "figures", "estimate-classes"):
        assert f" {verb} " in shown
    assert "Say what `discover` with the same options will cost here: time, disk, memory" in shown


def test_options_stand_under_what_they_are_about(run_cli) -> None:
    shown = run_cli("discover", "-h").stdout
    sections = re.findall(r"^(\S.*):$", shown, re.MULTILINE)
    assert sections[:3] == ["Arguments", "Options", "Labels and categories"]
    own = shown[shown.index("\nOptions:") : shown.index("\nLabels and categories:")]
    assert "--resume" in own
    assert "--seed" not in own
    places = [shown.index(words) for words in ("\nLabels and", "\n  --classes ", "\nTraining:", "\n  --seed ")]
    assert places == sorted(places)
    assert max(map(len, run_cli().stdout.splitlines())) <= 80


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete(shell: str) -> None:
    program = "from legogcd.cli import main; main()"
    words = {"COMP_WORDS": "legogcd dis", "COMP_CWORD": "1", "_TYPER_COMPLETE_ARGS": "legogcd dis"}
    environment = os.environ | words | {"_LEGOGCD_COMPLETE": f"complete_{shell}"}
    environment |= {"_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    command = [sys.executable, "-c", f"import sys; sys.argv = ['legogcd']; {program}"]
    assert "discover" in subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout


SORT = "discover {images} --labels {labels} --classes 4 --out o"
COMPARE = "compare {images} --labels folders --known blue --out o"
REFUSED = {
    "predict {run} {images} --out x.xlsx": "--out x.xlsx: expected a file that ends in .csv, .jsonl, .parquet",
    "predict {run} nowhere --out x.csv": "'nowhere' does not exist",
    "predict {images} {images} --out x.csv": "does not hold a finished run",
    "predict {run} {images} --out {labels}": "is there already; give another name, or --overwrite",
    "predict {run} {images} --out x.csv --threads 0": "--threads 0",
    "discover nowhere --labels {labels} --classes 4 --out o": "'nowhere' does not exist",
    "discover {images} --labels gone.csv --classes 4 --out o": "cannot read 'gone.csv'",
    "discover {images} --labels {labels} --out o": "--classes is needed",
    "discover {images} --labels {labels} --classes 4 --out {run}": "already holds a run",
    f"{SORT} --threads 0": "--threads 0",
    "discover {images} --labels {labels} --known a --classes 4 --out o": "--known goes with --labels folders",
    "report {images}": "does not hold a finished run",
    "compare nowhere --labels folders --out o": "'nowhere' does not exist",
    "compare {images} --labels {labels} --classes 4 --out o": "--truth is needed",
    "discover {images} --labels {labels} --classes 1 --out o": "2 classes are labelled but only 1 were asked for",
    "discover {images} --labels {odd} --classes 4 --out o": "needs the header 'path,label'",
    "discover {images} --labels folders --out o": "no known class was named; name one or more sub-folders with --known",
    f"{SORT} --method simgdc": "unknown method 'simgdc'; there are: kmeans",
    f"{SORT} --method legogcd+prior": "write legogcd:prior; there are",
    f"{SORT} --method kmeans:prior": "kmeans takes no extra bricks",
    f"{SORT} --method legogcd+:prior": "prior is in it already",
    f"{SORT} --recipe cubs": "unknown recipe 'cubs'; there are: default",
    f"{SORT} --method legogcd --sizes equal": "sizes equal: legogcd takes no such wish; legogcd+ does",
    f"{SORT} --effort some": "'some' is not one of",
    f"{SORT} --effort quick --recipe cub": "effort quick goes with our recipe only; recipe cub trains as published",
    f"{SORT} --effort thorough --method kmeans": "effort thorough: kmeans trains nothing",
    "plan {images} --effort thorough --recipe paper": "effort thorough goes with our recipe only",
    f"{COMPARE} --effort quick --recipe paper": "effort quick goes with our recipe only",
    f"{SORT} --set bta=1": "unknown setting 'bta'; there are: batch_size",
    f"{SORT} --set beta=-1": "setting beta = '-1': input should be great",
    f"{SORT} --set beta=much": "setting beta = 'much': input should be a ",
    f"{SORT} --method legogcd:prior --set prior.uniform_share=2": (
        "setting prior.uniform_share = '2': input should be less than or equal to 1"
    ),
    f"{SORT} --backbone ./gone.pth": "no such file or folder",
    f"{SORT} --image-size 100": "takes multiples of 32, such as 96",
    "encode {images} --backbone lite0+lite0": "names a network twice",
    "plan {images} --method simgdc": "unknown method 'simgdc'",
    "plan {images} --set bta=1": "unknown setting 'bta'",
    f"{COMPARE} --methods kmeans,simgdc": "unknown method 'simgdc'",
    f"{COMPARE} --set bta=1": "'bta' belongs to none of the methods kmeans,",
    f"{COMPARE} --set beta=-1": "setting beta = '-1'",
    "estimate-classes {images} --labels {labels} --approach guess": "no approach 'guess' to count classes",
    "estimate-classes {images} --labels {labels} --backbone ./gone": "no such file or folder",
    "reproduce cub --root {images} --method simgdc": "unknown method 'simgdc'",
    "reproduce cub --root {images} --set bta=1": "unknown setting 'bta'",
    "reproduce cubs --root {images}": "unknown data set or table 'cubs'",
    "evaluate {images} --truth {labels}": "does not hold a finished run",
    "figures {images}": "does not hold a finished run",
}


def test_wrong_arguments_are_found_before_anything_is_loaded(pictures: Path, labels: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.json").write_text("{}")
    (tmp_path / "odd.csv").write_text("name,kind\na.jpg,owl\n")
    places = {"run": run, "images": pictures, "labels": labels, "odd": tmp_path / "odd.csv"}
    program = (
        "import json, sys, io, contextlib\n"
        "from legogcd.cli import main\n"
        "for command in json.loads(sys.argv.pop()):\n"
        "    sys.argv = ['legogcd', *command.split()]\n"
        "    said = io.StringIO()\n"
        "    with contextlib.redirect_stderr(said):\n"
        "        try: main()\n"
        "        except SystemExit as stop: code = stop.code\n"
        "    print(code, bool({'torch', 'pandas', 'sklearn'} & set(sys.modules)), said.getvalue().strip())\n"
    )
    commands = [command.format(**places) for command in REFUSED]
    arguments = [sys.executable, "-c", program, json.dumps(commands)]
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=tmp_path, check=True)
    for line, words in zip(done.stdout.splitlines(), REFUSED.values(), strict=True):
        assert line.startswith("2 False legogcd: "), line
        assert words in line


def test_python_refuses_wrong_arguments_before_anything_is_loaded(tmp_path: Path) -> None:
    program = """if True:
        import sys
        from legogcd import LegoGCD
        for wrong in (
            {"method": "simgdc"}, {"recipe": "cubs"}, {"settings": {"bta": 1}}, {"settings": {"beta": -1}},
            {"method": "simgcd:prior", "settings": {"prior.momentum": 2}},
            {"threads": 0}, {"backbone": "./gone.pth"}, {"image_size": 100},
        ):
            try:
                LegoGCD(n_classes=3, **wrong).fit("images")
            except ValueError as mistake:
                print("torch" in sys.modules, mistake)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=True)
    lines = done.stdout.splitlines()
    assert [line.split(";")[0].split(":")[0] for line in lines] == [
        "False unknown method 'simgdc'",
        "False unknown recipe 'cubs'",
        "False unknown setting 'bta'",
        "False setting beta = -1",
        "False setting prior.momentum = 2",
        "False threads = 0",
        "False backbone './gone.pth'",
        "False image size 100",
    ]


def test_what_computes_nothing_never_waits_for_torch(
    run_cli, pictures: Path, labels: Path, common: tuple[object, ...], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    given = ("discover", pictures, "--labels", labels, "--classes", 4, *common, "--out", run, "--no-report")
    assert run_cli(*given).exit_code == 0
    (tmp_path / "truth.csv").write_text("path,label\nblue/06.png,blue\nred/02.png,red\n")
    commands = (
        "--help", "--version", "discover --help", "methods", "backbones", "datasets", "cache list --cache cache",
        "cache prune --cache cache --dry-run", "name run new-001 owl", "merge run owl new-002", "undo run", "redo run",
        "undo run --list", "split run blue blue/00.png", "confirm run owl", "aside run --images red/01.png",
        "import run labels.csv", "export run --to csv --out table", "evaluate run --truth truth.csv",
    )  # fmt: skip
    program = """if True:
        import sys
        from legogcd.cli import main
        for command in sys.argv[1:]:
            sys.argv = ["legogcd", *command.split()]
            try:
                main()
            except SystemExit as stop:
                print(f"|{stop.code} {'torch' in sys.modules} {command}")
    """
    done = subprocess.run(
        [sys.executable, "-c", program, *commands], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    said = [line[1:] for line in done.stdout.splitlines() if line.startswith("|")]
    assert said == [f"0 False {command}" for command in commands], done.stderr


def test_quiet_says_results_and_verbose_says_terms(run_cli, pictures, labels, common, tmp_path: Path) -> None:
    given = ("discover", pictures, "--labels", labels, "--classes", 4, *common, "--no-report")
    plain = run_cli(*given, "--out", tmp_path / "plain")
    assert "epoch 1, loss" in plain.stderr
    assert "info_nce" not in plain.stderr + plain.stdout
    assert not re.search(r"\b(All|Old|New) ", plain.stderr + plain.stdout), "there is no truth to score with"
    quiet = run_cli(*given, "--out", tmp_path / "quiet", "-q")
    assert quiet.stdout.splitlines()[0] == plain.stdout.splitlines()[0]
    assert not [line for line in quiet.stderr.splitlines() if not line.startswith("warning: ")]
    loud = run_cli("-v", *given, "--out", tmp_path / "loud")
    assert re.search(r"epoch 1, loss [\d.]+, \w+ [\d.]+, ", loud.stderr)


def test_an_estimated_number_of_classes_is_said_once(run_cli, pictures, labels, common, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = run_cli("discover", pictures, "--labels", labels, "--classes", "auto", *common, "--out", out, "--no-report")
    assert done.exit_code == 0, done.stderr
    lines = (done.stderr + done.stdout).splitlines()
    assert len(lines) == len(set(lines))
    assert sum("views" in line for line in lines) == 1
    assert sum("categories, known and new (" in line for line in lines) == 1
    table = tmp_path / "table.csv"
    predict = ("predict", out, pictures, "--backbone", common[1], "--out", table)
    assert run_cli(*predict).exit_code == 0
    before = table.read_bytes()
    assert run_cli(*predict).exit_code == 2
    assert table.read_bytes() == before
    assert "(replaced)" in run_cli(*predict, "--overwrite").stdout


def test_the_cache_is_listed_and_pruned(run_cli, pictures, tiny_vit, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    encode = ("encode", pictures, "--backbone", tiny_vit, "--cache", cache, "--image-size", 32, "--views", 2)
    assert run_cli(*encode).exit_code == 0
    assert f"{pictures}: up to date, used today" in run_cli("cache", "list", "--cache", cache).stdout
    assert "0 folders removed" in run_cli("cache", "prune", "--cache", cache).stdout
    (pictures / "blue" / "00.png").unlink()
    assert "1 folder would be removed" in run_cli("cache", "prune", "--cache", cache, "--dry-run").stdout
    assert len(list(cache.glob("views-*"))) == 1
    assert "the images have changed" in run_cli("cache", "prune", "--cache", cache).stdout
    assert not list(cache.glob("views-*"))


def test_the_doctor_names_what_is_here_and_what_is_missing(run_cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("legogcd.run.health.hub_answers", lambda: False)
    monkeypatch.setattr("legogcd.run.health.find_spec", lambda module: None)
    done = run_cli("doctor")
    assert done.exit_code == 0
    for words in ("torch ", "--device auto computes on", "cannot be reached", "pip install rawpy: camera raw files"):
        assert words in done.stdout


class TestBackboneAuto:
    @pytest.fixture
    def at_hand(self, monkeypatch: pytest.MonkeyPatch) -> set[str]:
        names: set[str] = set()
        monkeypatch.setattr(hub, "cached", lambda name: Path(name) if name in names else None)
        return names

    def test_what_is_on_the_machine_is_taken(self, at_hand: set[str]) -> None:
        for on_disk, device, chosen in (
            ({SMALL.name, BASE.name}, "cpu", SMALL.name),
            ({SMALL.name, BASE.name}, "cuda", BASE.name),
            ({BASE.name}, "cpu", BASE.name),
            (set(), "cpu", "efficientnet-lite0"),
        ):
            at_hand.clear()
            at_hand |= on_disk
            options = RunOptions(backbone="auto", device=device)
            assert with_chosen_backbone(options, print).backbone == chosen

    def test_nothing_is_downloaded_unless_somebody_says_so(
        self, at_hand: set[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fetched: list[str] = []
        monkeypatch.setattr(hub, "fetch", lambda name, bars: fetched.append(name))
        options, said = RunOptions(backbone="auto", device="cpu"), []
        assert with_chosen_backbone(options, said.append).backbone == "efficientnet-lite0"
        assert with_chosen_backbone(options, said.append, lambda _: False).backbone == "efficientnet-lite0"
        assert (fetched, "downloads 88 MB" in said[0]) == ([], True)
        assert with_chosen_backbone(options, said.append, lambda _: True).backbone == SMALL.name
        assert fetched == [SMALL.name]
        usual = with_chosen_backbone(RunOptions(), said.append, lambda _: True)
        assert usual.protocol.backbone == "efficientnet-lite0"

    def test_the_question_is_asked_once_and_only_at_a_terminal(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        asked: list[str] = []
        monkeypatch.setattr(asking.typer, "confirm", lambda text, **_: asked.append(text))
        assert not asking.may_download(SMALL)
        assert not asked, "nobody is there to answer"
        for stream in ("stdin", "stderr"):
            monkeypatch.setattr(getattr(sys, stream), "isatty", lambda: True, raising=False)
        assert not asking.may_download(SMALL)
        assert not asking.may_download(SMALL)
        assert len(asked) == 1
        assert "88 MB" in asked[0]
