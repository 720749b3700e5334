"""A plan's counts and sizes are those of the run that follows; its times come from doing the same with a few images."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from legogcd.collection import find_images, from_folders
from legogcd.display import Quiet
from legogcd.errors import UserError
from legogcd.run import Job, RunOptions, prepare
from legogcd.run import plan as plan_module
from legogcd.run.memory_need import MemoryNeed
from legogcd.run.plan import Plan, effort_lines, plan, plans


@pytest.fixture
def job(pictures: Path, tiny_vit: Path, tmp_path: Path) -> Job:
    collection, _ = from_folders(find_images(pictures), ["blue", "green"])
    options = RunOptions(
        n_classes=4,
        recipe="paper",
        epochs=7,
        start="kmeans",
        settings={"batch_size": 10, "projector_hidden": 32, "projector_out": 16},
        backbone=str(tiny_vit),
        image_size=32,
        views=3,
        cache=tmp_path / "cache",
        device="cpu",
    )
    return Job(collection, options)


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.bin"))


def test_the_disk_and_the_steps_are_what_the_run_then_takes(job: Job, tmp_path: Path) -> None:
    planned = plan(job)
    assert (planned.images, planned.views, planned.steps, planned.epochs) == (32, 3, 3, 7)
    assert not planned.kept
    assert not (tmp_path / "cache").exists() or size_of(tmp_path / "cache") == 0  # nothing is left behind
    prepare(job, Quiet())
    assert size_of(tmp_path / "cache") == planned.disk


def test_all_parts_were_measured(job: Job) -> None:
    planned = plan(job)
    for seconds in (planned.encode, planned.start, planned.step, planned.evaluation):
        assert seconds > 0
    assert planned.total > planned.encode + 21 * planned.step
    assert planned.memory.most > 10**7
    assert planned.memory.training >= planned.memory.most / 10


def test_views_that_are_kept_cost_nothing(job: Job) -> None:
    prepare(job, Quiet())
    planned = plan(job)
    assert planned.kept
    assert planned.encode == 0
    assert "kept already" in planned.lines()[0]


@pytest.mark.parametrize("settle", [True, False])
def test_settling_is_planned_also_with_more_classes_than_images_are_looked_at(job: Job, settle: bool) -> None:
    ours = job.changed(recipe="default", n_classes=20, settings=job.options.settings | {"settle": settle})
    planned = plan(ours)
    assert (planned.settling > 0) == settle
    assert planned.train >= planned.start + planned.settling + 21 * planned.step


def test_a_method_that_trains_nothing_has_no_steps(job: Job) -> None:
    planned = plan(job.changed(method="kmeans", settings={}, epochs=None, start=None))
    assert planned.epochs == 0
    assert planned.step == 0


def test_fresh_views_cannot_be_planned(job: Job) -> None:
    with pytest.raises(UserError, match="kept views"):
        plan(job.changed(views="fresh"))


def test_each_effort_is_planned_and_training_is_measured_once(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[int] = []
    train_some = plan_module._train_some
    monkeypatch.setattr(plan_module, "_train_some", lambda *given: (measured.append(1), train_some(*given))[1])
    found = plans(job.changed(recipe="default", effort="quick", views=None, epochs=None))
    assert list(found) == ["quick", "normal", "thorough"]
    assert [(each.views, each.epochs) for each in found.values()] == [(2, 5), (4, 30), (4, 30)]  # a ViT trains for 30
    assert not any(each.settling for each in found.values())  # by rule, with so few classes
    assert found["quick"].disk < found["normal"].disk == found["thorough"].disk
    quick, normal = (found[effort].train - found[effort].start for effort in ("quick", "normal"))
    assert quick < normal  # the step's time is one and the same
    assert (len(measured), len({each.step for each in found.values()})) == (1, 1)  # on one backbone, which was given
    assert [line.split()[0] for line in effort_lines(found)] == list(found)


def test_a_published_recipe_and_a_method_without_epochs_have_no_other_effort(job: Job) -> None:
    for alone in (job, job.changed(recipe="default", method="kmeans", settings={}, epochs=None, start=None)):
        found = plans(alone)
        assert list(found) == ["normal"]
        assert effort_lines(found) == []


def test_lines_are_readable() -> None:
    planned = Plan(
        images=5994,
        views=4,
        steps=46,
        epochs=200,
        encode=7200.0,
        start=3.0,
        step=0.25,
        settling=0.0,
        evaluation=9.0,
        disk=9_060_000_000,
        memory=MemoryNeed(600_000_000, 1_900_000_000, 700_000_000, 650_000_000, 1_200_000_000),
        kept=False,
    )
    text = "\n".join(planned.lines())
    assert "2.0 hours (4 views and the evaluation view of 5994 images)" in text
    assert "disk       9.06 GB" in text
    assert "memory     1.9 GB (encoding 600 MB, start 1.9 GB, training 700 MB, sorting 650 MB, report 1.2 GB)" in text
    assert "39 minutes (200 epochs of 46 steps an epoch, 250 ms each)" in text
    assert "39 minutes (at most 200 epochs of 46" in "\n".join(replace(planned, until_flat=True).lines())


def test_the_command_needs_no_labels(
    pictures: Path, tiny_vit: Path, run_cli: Callable[..., Any], tmp_path: Path
) -> None:
    done = run_cli(
        *("plan", pictures, "--classes", 4, "--backbone", tiny_vit, "--image-size", 32, "--epochs", 2),
        *("--views", 2, "--cache", tmp_path / "cache", "--set", "batch_size=8"),
    )
    assert done.exit_code == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        *("keeping", "disk", "training", "memory", "in"),
        *("quick", "normal", "thorough"),
    ]


@pytest.mark.parametrize(("classes", "message"), [("many", "expected a number, or auto"), (1, "at least 2")])
def test_classes_are_read_and_checked_as_discover_does(
    pictures: Path, run_cli: Callable[..., Any], classes: object, message: str
) -> None:
    done = run_cli("plan", pictures, "--classes", classes)
    assert done.exit_code == 2
    assert message in done.stderr
