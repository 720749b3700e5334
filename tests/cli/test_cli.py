"""The command line as a user meets it: what it leaves behind, and one clear line for everything that cannot work."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

FAST = ("--image-size", 32, "--device", "cpu", "--precision", "fp32", "--views", 2, "--epochs", 2)
SMALL = ("--set", "projector_hidden=32", "--set", "batch_size=16")


@pytest.fixture
def discover(run_cli, tiny_vit: Path, tmp_path: Path):
    def run(*arguments: object, epochs: int = 2):
        common = ("--backbone", tiny_vit, "--cache", tmp_path / "cache", *FAST, "--epochs", epochs, *SMALL)
        given = {str(argument) for argument in arguments}
        out = () if "--out" in given else ("--out", tmp_path / "run")
        return run_cli("discover", *common, *out, *arguments)

    return run


def write_csv(path: Path, rows: list[tuple[str, str]]) -> Path:
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("path", "label"), *rows])
    return path


@pytest.fixture
def labels(pictures: Path, tmp_path: Path) -> Path:
    return write_csv(tmp_path / "labels.csv", [(f"{c}/{i:02d}.png", c) for c in ("blue", "green") for i in range(4)])


def is_one_line(done, *parts: str) -> None:
    assert done.exit_code == 2, done.stdout + done.stderr
    lines = done.stderr.strip().splitlines()
    assert lines[-1].startswith("legogcd: ")
    assert "Traceback" not in done.stderr
    assert not [line for line in lines[:-1] if line.startswith("legogcd: ")]
    for part in parts:
        assert part in lines[-1], lines[-1]


def test_discover_leaves_a_run_folder(discover, pictures: Path, labels: Path, tmp_path: Path) -> None:
    truth = write_csv(
        tmp_path / "truth.csv", [(f"{p.parent.name}/{p.name}", p.parent.name) for p in pictures.rglob("*.png")]
    )
    done = discover(pictures, "--labels", labels, "--classes", 4, "--truth", truth, "-v")
    assert done.exit_code == 0, done.stderr
    run = tmp_path / "run"
    timed = [json.loads(line) for line in (run / "timing.jsonl").read_text("utf-8").splitlines()]
    phases = {entry["phase"]: entry for entry in timed if entry["what"] == "phase"}
    assert {"starting", "encoding", "training", "sorting", "pictures", "report"} <= set(phases)
    assert abs(sum(entry["share"] for entry in phases.values()) - 1) < 0.01
    for phase, entry in phases.items():
        assert re.search(rf"{phase} +{entry['seconds']:.1f} s +\d+ %", done.stdout), (phase, done.stdout)
    assert {path.name for path in run.iterdir()} == {
        *("config.json", "metrics.jsonl", "timing.jsonl", "predictions.csv", "model.safetensors"),
        *("curves.png", "groups.png", "sample.safetensors", "calibration.json", "report.html"),
        *("manifest.json", "collection.csv", "skipped.csv", "near_duplicates.csv", "strangers.json"),
    }
    with open(run / "predictions.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["path", "category", "status", "confidence", "predicted"]
    assert len(rows) == 32
    assert {row["status"] for row in rows} <= {"labelled", "known", "novel"}
    labelled = [row for row in rows if row["status"] == "labelled"]
    assert len(labelled) == 8
    assert all(row["category"] == row["path"].split("/")[0] for row in labelled)
    assert all(row["category"].startswith("new-0") for row in rows if row["status"] == "novel")
    assert all(row["category"] == row["predicted"] for row in rows if row["status"] != "labelled")
    assert "8 labelled" in done.stdout
    assert "All " in done.stdout
    assert "forgetting of Old" in done.stdout
    for picture in ("curves.png", "groups.png"):
        with Image.open(run / picture) as image:
            assert min(image.size) > 100
    metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert {"all", "old", "new", "nmi", "ari"} <= set(metrics[-1])


def test_evaluate_scores_as_the_run_did(discover, run_cli, pictures: Path, labels: Path, tmp_path: Path) -> None:
    truth = write_csv(
        tmp_path / "truth.csv", [(f"{p.parent.name}/{p.name}", p.parent.name) for p in pictures.rglob("*.png")]
    )
    discover(pictures, "--labels", labels, "--classes", 4, "--truth", truth)
    last = json.loads((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[-1])
    done = run_cli("evaluate", tmp_path / "run", "--truth", truth)
    assert done.exit_code == 0, done.stderr
    printed = {line.rsplit(maxsplit=1)[0].strip(): line.rsplit(maxsplit=1)[1] for line in done.stdout.splitlines()}
    assert float(printed["All"]) == pytest.approx(100 * last["all"], abs=0.06)
    assert float(printed["NMI"]) == pytest.approx(100 * last["nmi"], abs=0.06)
    assert printed["Images scored"] == "24"
    assert "Forgetting of Old" in printed
    assert run_cli("evaluate", tmp_path / "run", "--truth", truth, "--balanced").exit_code == 0


def test_without_truth_there_are_losses_and_no_scores(discover, pictures: Path, labels: Path, tmp_path: Path) -> None:
    done = discover(pictures, "--labels", labels, "--classes", 4)
    assert done.exit_code == 0, done.stderr
    assert "Old" not in done.stdout
    assert (tmp_path / "run" / "curves.png").stat().st_size > 1000


def test_folders_as_labels_need_no_class_count(discover, pictures: Path, tmp_path: Path) -> None:
    done = discover(pictures, "--labels", "folders", "--known", "blue,green", "--labelled-share", 0.25)
    assert done.exit_code == 0, done.stderr
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (config["options"]["n_classes"], config["known"], config["images"]["labelled"]) == (4, ["blue", "green"], 4)


def test_a_second_run_uses_the_kept_views(discover, pictures: Path, labels: Path, tmp_path: Path) -> None:
    discover(pictures, "--labels", labels, "--classes", 4)
    done = discover(pictures, "--labels", labels, "--classes", 4, "--seed", 1, "--out", tmp_path / "two")
    assert "using kept views of 32 images" in done.stderr


def test_encode_fills_the_cache_for_discover(run_cli, discover, pictures, labels, tiny_vit, tmp_path: Path) -> None:
    done = run_cli("encode", pictures, "--backbone", tiny_vit, "--cache", tmp_path / "cache", *FAST[:-2])
    assert done.exit_code == 0, done.stderr
    assert "32 images ready, 0 unreadable" in done.stdout
    assert "using kept views" in discover(pictures, "--labels", labels, "--classes", 4).stderr


@pytest.mark.parametrize("recipe", ["default", "paper", "cub", "cifar100", "imagenet1k"])
def test_recipes_by_name(discover, pictures: Path, labels: Path, tmp_path: Path, recipe: str) -> None:
    done = discover(pictures, "--labels", labels, "--classes", 4, "--recipe", recipe, epochs=1)
    assert done.exit_code == 0, done.stderr
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["method"] == ("legogcd+" if recipe == "default" else "legogcd")
    used = config["recipe"]
    published = {"paper": (0.7, 2, 2), "cub": (0.7, 2, 2), "cifar100": (0.85, 2, 1), "imagenet1k": (0.7, 1, 1)}
    if recipe != "default":
        assert (used["threshold"], used["mean_entropy_weight"], used["beta"]) == published[recipe]
        assert (used["learning_rate"], used["start"]) == (0.1, "random")


def test_names_with_spaces_commas_quotes_and_other_alphabets(discover, tiny_vit, tmp_path: Path) -> None:
    folder = tmp_path / "my photos, 2024"
    names = ["a b.png", "c,d.png", 'e"f.png', "日本語.png", "ÿ ñ/é.png", "plain.png"]
    random = np.random.default_rng(0)
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 255, (40, 40, 3), np.uint8)).save(folder / name)
    labels = write_csv(tmp_path / "labels.csv", [(names[0], 'Eulen, "groß"'), (names[3], "鳥")])
    done = discover(folder, "--labels", labels, "--classes", 3)
    assert done.exit_code == 0, done.stderr
    with open(tmp_path / "run" / "predictions.csv", encoding="utf-8") as file:
        rows = {row["path"]: row for row in csv.DictReader(file)}
    assert set(rows) == set(names)
    assert rows["a b.png"]["category"] == 'Eulen, "groß"'


def test_all_kinds_of_images_are_read_and_bad_ones_counted(discover, pictures: Path, labels: Path) -> None:
    red = pictures / "red"
    Image.new("L", (50, 40), 128).save(red / "grey.png")
    Image.new("CMYK", (50, 40), (0, 200, 200, 0)).save(red / "cmyk.jpg")
    Image.new("RGBA", (50, 40), (255, 0, 0, 128)).save(red / "alpha.png")
    Image.new("P", (50, 40)).save(red / "palette.gif")
    Image.fromarray(np.full((40, 50), 40_000, np.uint16)).save(red / "sixteen.png")
    Image.new("RGB", (3, 900)).save(red / "thin.png")
    (red / "empty.jpg").write_bytes(b"")
    (red / "text.jpg").write_text("hello")
    (red / "cut.png").write_bytes((red / "00.png").read_bytes()[:200])
    (red / "notes.txt").write_text("not an image at all")
    done = discover(pictures, "--labels", labels, "--classes", 4)
    assert done.exit_code == 0, done.stderr
    assert "1 file passed over: not an image by name" in done.stderr
    assert "3 unreadable images left out" in done.stderr
    assert "38 images" in done.stdout


def test_missing_and_empty_folders(discover, labels: Path, tmp_path: Path) -> None:
    is_one_line(discover(tmp_path / "nowhere", "--labels", labels, "--classes", 4), "nowhere")
    (tmp_path / "empty").mkdir()
    is_one_line(discover(tmp_path / "empty", "--labels", labels, "--classes", 4), "empty")
    is_one_line(discover(labels, "--labels", labels, "--classes", 4), "labels.csv")


def test_labels_of_images_that_are_not_there(discover, pictures: Path, tmp_path: Path) -> None:
    ghosts = write_csv(tmp_path / "ghosts.csv", [("blue/00.png", "blue"), ("blue/99.png", "blue"), ("x.png", "y")])
    is_one_line(discover(pictures, "--labels", ghosts, "--classes", 4), "2", "blue/99.png")
    assert not (tmp_path / "run").exists()


def test_contradictory_counts(discover, pictures: Path, labels: Path) -> None:
    is_one_line(discover(pictures, "--labels", labels, "--classes", 1), "only 1 were asked for")
    is_one_line(discover(pictures, "--labels", labels, "--classes", 500), "500 classes", "32 images")
    is_one_line(discover(pictures, "--labels", labels), "--classes is needed")
    three = "blue,green,red"
    is_one_line(discover(pictures, "--labels", "folders", "--known", three, "--classes", 2), "3 classes", "only 2")


def test_labels_files_that_make_no_sense(discover, pictures: Path, tmp_path: Path) -> None:
    for name, text in {"a": "path,name\nblue/00.png,x\n", "b": "", "c": "path,label\nblue/00.png,\n"}.items():
        (tmp_path / f"{name}.csv").write_text(text)
        is_one_line(discover(pictures, "--labels", tmp_path / f"{name}.csv", "--classes", 4))
    is_one_line(discover(pictures, "--labels", tmp_path / "missing.csv", "--classes", 4), "missing.csv")
    twice = write_csv(tmp_path / "twice.csv", [("blue/00.png", "blue"), ("blue/00.png", "red")])
    is_one_line(discover(pictures, "--labels", twice, "--classes", 4), "blue/00.png")


def test_folders_that_are_not_there(discover, pictures: Path) -> None:
    is_one_line(discover(pictures, "--labels", "folders", "--known", "blue,geen"), "geen", "green")
    is_one_line(discover(pictures, "--labels", "folders"))
    is_one_line(discover(pictures, "--labels", "folders", "--known", "blue", "--labelled-share", 3), "3")


def test_one_class_and_tiny_classes_are_warned_about(discover, pictures: Path, tmp_path: Path) -> None:
    one = write_csv(tmp_path / "one.csv", [("blue/00.png", "blue")])
    done = discover(pictures, "--labels", one, "--classes", 4)
    assert done.exit_code == 0, done.stderr
    assert "warning: only one class is labelled" in done.stderr
    assert "1 known class with a single labelled image" in done.stderr


def test_an_occupied_output_loses_nothing(discover, pictures: Path, labels: Path, tmp_path: Path) -> None:
    discover(pictures, "--labels", labels, "--classes", 4)
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    is_one_line(discover(pictures, "--labels", labels, "--classes", 4), "already holds a run", "--resume")
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


def test_unknown_backbones_point_to_the_one_that_works_offline(
    discover, pictures: Path, labels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name in ("facebook/dino-vitb16", "no-such-model"):
        done = discover(pictures, "--labels", labels, "--classes", 4, "--backbone", name)
        is_one_line(done, name, "--backbone efficientnet-lite0")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--views", "1"), "--views 1"),
        (("--views", "many"), "--views many"),
        (("--set", "beta"), "NAME=VALUE"),
        (("--set", "beta=big"), "beta"),
        (("--set", "gamma=1"), "unknown setting 'gamma'"),
        (("--method", "simgcd+nothing"), "unknown method"),
        (("--recipe", "birds"), "unknown recipe"),
        (("--epochs", "0"), "epochs"),
        (("--disk-budget", "lots"), "--disk-budget lots"),
        (("--train-blocks", "9"), "train_blocks = 9"),
        (("--image-size", "33"), "image size 33"),
        (("--device", "tpu"), "tpu"),
        (("--nonsense",), "--nonsense"),
    ],
)
def test_bad_arguments(discover, pictures: Path, labels: Path, arguments: tuple[str, ...], part: str) -> None:
    is_one_line(discover(pictures, "--labels", labels, "--classes", 4, *arguments), part)


def test_evaluating_what_is_not_a_run(run_cli, labels: Path, tmp_path: Path) -> None:
    is_one_line(run_cli("evaluate", tmp_path, "--truth", labels), "does not hold a finished run")


def test_listings_and_help(run_cli) -> None:
    assert "legogcd-released" in run_cli("methods").stdout
    listed = run_cli("backbones").stdout
    assert "efficientnet-lite0" in listed
    assert "facebook/dino-vitb16" in listed
    helped = run_cli("discover", "--help")
    assert helped.exit_code == 0
    for word in ("labels.csv", "--known", "--resume", "--recipe", "predictions.csv"):
        assert word in helped.stdout, word


def test_help_does_not_wait_for_torch() -> None:
    program = "import sys; import legogcd.cli; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_no_command_at_all_says_where_to_begin(run_cli) -> None:
    done = run_cli()
    assert done.exit_code == 0
    for command in ("legogcd demo", "legogcd discover photos --labels", "legogcd review run"):
        assert command in done.stdout


def test_a_run_inside_the_image_folder_is_not_taken_for_images(discover, pictures: Path, labels: Path) -> None:
    assert discover(pictures, "--labels", labels, "--classes", 4, "--out", pictures / "run").exit_code == 0
    done = discover(pictures, "--labels", labels, "--classes", 4, "--out", pictures / "again")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("32 images")


def test_a_truth_that_scores_nothing_is_said_before_any_work(discover, pictures, labels, tmp_path: Path) -> None:
    truth = write_csv(tmp_path / "truth.csv", [("blue/00.png", "blue")])
    is_one_line(discover(pictures, "--labels", labels, "--classes", 4, "--truth", truth), "nothing to score")
    assert not (tmp_path / "run").exists()


def test_the_next_round_starts_from_what_was_confirmed(
    discover, run_cli, labels: Path, pictures: Path, tmp_path: Path
) -> None:
    assert discover(pictures, "--labels", labels, "--classes", 4).exit_code == 0
    with open(tmp_path / "run" / "predictions.csv", encoding="utf-8") as file:
        groups = sorted({row["category"] for row in csv.DictReader(file) if row["status"] == "novel"})
    assert run_cli("name", tmp_path / "run", groups[0], "snowy owl").exit_code == 0
    assert run_cli("confirm", tmp_path / "run", "snowy owl").exit_code == 0
    done = discover(pictures, "--from", tmp_path / "run", "--out", tmp_path / "second")
    assert done.exit_code == 0, done.stderr
    config = json.loads((tmp_path / "second" / "config.json").read_text())
    assert config["known"] == ["blue", "green", "snowy owl"]
    assert config["images"]["labelled"] > 8
    other = write_csv(tmp_path / "other.csv", [("blue/00.png", "green")])
    done = discover(pictures, "--from", tmp_path / "run", "--labels", other, "--out", tmp_path / "third")
    assert done.exit_code == 2
    assert "blue/00.png is 'blue' in" in done.stderr
