"""What other tools decided comes back as edits: round trips with our own exports, and files that are wrong."""

import contextlib
import json
import shutil
from pathlib import Path

import pytest
from example_pictures import write_pictures
from hypothesis import given, settings
from hypothesis import strategies as st
from run_configs import run_config

from legogcd.csv_text import write_rows
from legogcd.edits import ASIDE, Aside, Confirm, Move, Name
from legogcd.edits.state import State
from legogcd.errors import UserError
from legogcd.export import export_run
from legogcd.imports import import_decisions, import_file
from legogcd.run.categories import append_edit, confirmed_labels, current, read_edits, read_state
from legogcd.run.config import ImagesRecord, write_config
from legogcd.run.discovery import COLUMNS, read_predictions


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run with four groups of eight pictures, and the folder of the pictures."""
    root = tmp_path_factory.mktemp("imports")
    pictures = write_pictures(root / "pictures")
    names = sorted(path.relative_to(pictures).as_posix() for path in pictures.rglob("*.png"))
    groups = {"blue": "blue", "green": "green", "red": "new-001", "yellow": "new-002"}
    rows = []
    for name in names:
        group = groups[name.partition("/")[0]]
        status = "novel" if group.startswith("new") else "labelled" if name.endswith("0.png") else "known"
        rows.append((name, group, status, "0.9000", group))
    (root / "run").mkdir()
    write_rows(root / "run" / "predictions.csv", COLUMNS, rows)
    write_config(root / "run", run_config(("blue", "green"), 4, images=ImagesRecord(root="x", count=32, labelled=2)))
    return root / "run", pictures


@pytest.fixture
def run(made: tuple[Path, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(made[0], tmp_path / "run"))


def decided(run: Path) -> None:
    append_edit(run, Name("new-001", "rose, red"))
    append_edit(run, Confirm({"rose, red": ("red/00.png", "red/01.png")}))
    append_edit(run, Move({"blue": ("blue/03.png",), "new-002": ("yellow/02.png",)}, "sun"))
    append_edit(run, Confirm({"green": ("green/05.png",)}))


@pytest.mark.parametrize(
    ("to", "file"), [("csv", "categories.csv"), ("label-studio", "tasks.json"), ("fiftyone", "labels.json")]
)
def test_what_is_settled_in_an_export_is_settled_again_after_its_import(run, made, tmp_path, to, file) -> None:
    decided(run)
    labels = confirmed_labels(run)
    export_run(run, to, tmp_path / "out", images=made[1])
    fresh = Path(shutil.copytree(made[0], tmp_path / "fresh"))
    import_file(fresh, tmp_path / "out" / file)
    assert confirmed_labels(fresh) == labels
    if to == "csv":  # the only one that has what is not settled too
        assert current(fresh)["category"].tolist() == current(run)["category"].tolist()
    assert len(read_edits(fresh)) == 1, "one undo takes it back"


def test_a_category_changed_in_a_spreadsheet_is_a_decision_and_a_guess_that_stayed_is_none(run, made, tmp_path) -> None:
    export_run(run, "csv", tmp_path / "out", images=made[1])
    table = (tmp_path / "out" / "categories.csv").read_text()
    (tmp_path / "changed.csv").write_text(table.replace("red/07.png,new-001", "red/07.png,rose"))
    done = import_file(run, tmp_path / "changed.csv")
    assert (done.moved, done.confirmed) == (1, 0)
    assert {path for path, label in confirmed_labels(run).items() if label == "rose"} == {"red/07.png"}


@pytest.mark.parametrize(
    "image",
    [
        "/data/local-files/?d=pictures/red/02.png",
        "https://host.example/some%20where/red/02.png?x=1",
        "s3://bucket/red/02.png",
        "red/02.png",
    ],
)
def test_label_studio_names_images_by_address_and_the_last_annotation_that_stands_counts(run, image) -> None:
    def annotation(choice: str, cancelled: bool = False) -> dict[str, object]:
        result = [{"type": "choices", "value": {"choices": [choice]}}]
        return {"result": result, "was_cancelled": cancelled}

    task = {"data": {"image": image}, "annotations": [annotation("wrong"), annotation("rose"), annotation("no", True)]}
    unlabelled = {"data": {"image": "red/03.png"}, "annotations": [], "predictions": [annotation("guess")]}
    done = import_decisions(read_state(run), "export.json", json.dumps([task, unlabelled]))
    assert done.edit.edits == (Move({"new-001": ("red/02.png",)}, "rose"),)
    small = [{"image": image, "category": "rose", "id": 1}, {"image": "red/03.png", "id": 2}]
    assert import_decisions(read_state(run), "min.json", json.dumps(small)).edit == (
        import_decisions(read_state(run), "min.json", json.dumps([task])).edit
    )


def test_fiftyone_gives_ground_truth_and_no_model_guesses(run) -> None:
    guess = {"label": 1, "confidence": 0.4}
    content = {"classes": ["rose", "lily"], "labels": {"red/02": {"label": 0}, "red/03": guess, "red/04": None}}
    done = import_decisions(read_state(run), "labels.json", json.dumps(content))
    assert done.edit.edits == (Move({"new-001": ("red/02.png",)}, "rose"),)
    samples = [{"filepath": "/elsewhere/pictures/red/02.png", "ground_truth": {"label": "rose"}, "p": guess}]
    assert import_decisions(read_state(run), "samples.json", json.dumps({"samples": samples})).edit.edits == (
        done.edit.edits
    )


def test_one_edit_confirms_moves_and_sets_aside_and_says_what_it_could_not_find(run) -> None:
    text = f"path,label\nblue/01.png,blue\ngreen/01.png,blue\nred/01.png,{ASIDE}\nblue/00.png,blue\nnowhere.png,blue\n"
    done = import_decisions(read_state(run), "a.csv", text)
    assert done.edit.edits == (
        Confirm({"blue": ("blue/01.png",)}),
        Aside({"new-001": ("red/01.png",)}),
        Move({"green": ("green/01.png",)}, "blue"),
    )
    assert (done.moved, done.confirmed, done.aside, done.unchanged, done.unknown) == (1, 1, 1, 1, ("nowhere.png",))
    append_edit(run, done.edit)
    assert current(run).set_index("path").loc["red/01.png", "status"] == "rejected"
    with pytest.raises(UserError, match="nothing new"):
        import_decisions(read_state(run), "a.csv", text)


def test_two_images_of_one_name_are_not_guessed_between(run) -> None:
    done = import_decisions(read_state(run), "a.csv", "path,label\n01.png,rose\nelsewhere/red/01.png,rose\n")
    assert done.unknown == ("01.png",)
    assert done.edit.edits == (Move({"new-001": ("red/01.png",)}, "rose"),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("a,b\n1,2\n", "expected a CSV"),
        ("path,label\nred/01.png\n", "line 2 has 1 cells"),
        ('path,label\n"red/01.png,rose\n', "not valid CSV"),
        ("path,label\nred/01.png,rose\nred/01.png,lily\n", "line 3: 'red/01.png' is 'lily' here and 'rose' before"),
        ("path,label\nred/01.png,new-777\n", "line 2"),
        ("path,label\nnowhere.png,rose\n", "none of the images"),
        ("path,label\nred/01.png,\n", "says of no image"),
        ("[1]", "task 1 is not an object"),
        ('[{"category": "rose"}]', "does not say which image"),
        ("{", "not valid JSON"),
        ('{"a": 1}', "no tool that is known"),
        ('{"classes": ["a"], "labels": {"red/01": 5}}', "there are 1 classes"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_clear_line(run, run_cli, tmp_path, text, said) -> None:
    (tmp_path / "file").write_text(text)
    done = run_cli("import", run, tmp_path / "file")
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert read_edits(run) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 40) | st.floats() | st.text(max_size=5) | st.just("red/01.png"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["data", "image", "path", "annotations", "result", "value", "choices", "labels", "classes"])
            | st.sampled_from(["samples", "filepath", "ground_truth", "label", "category", "confidence", "red/01"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(content=JSON | st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_file_is_an_edit_or_a_clear_refusal(made, content) -> None:
    state = State(read_predictions(made[0]))
    text = content if isinstance(content, str) else json.dumps(content)
    with contextlib.suppress(UserError):
        state.apply(state.resolve(import_decisions(state, "file", text).edit))
