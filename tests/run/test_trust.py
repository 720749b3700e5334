"""What a run folder may make this machine read: only what its user named, now or when the run was made here."""

import json
from pathlib import Path

import pytest
from run_configs import run_config

from legogcd.errors import UnreadableImage, UserError
from legogcd.run.config import ImagesRecord, RunConfig
from legogcd.run.trust import FilesBelow, made_here_file, remember_root, trusted_backbone, trusted_root


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that notes runs made here, in a folder of the test's own."""
    monkeypatch.setattr("legogcd.run.trust.user_state_path", lambda name: tmp_path / "state" / name)
    return made_here_file()


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    (tmp_path / "photos").mkdir()
    return tmp_path / "photos"


def config_of(root: object, backbone: str = "efficientnet-lite0") -> RunConfig:
    images = ImagesRecord(root=None if root is None else str(root), count=1, labelled=0)
    return run_config(images=images, backbone=backbone)


def test_the_images_of_a_run_made_here_are_found_again(tmp_path: Path, photos: Path) -> None:
    remember_root(tmp_path / "run", photos)
    assert trusted_root(tmp_path / "run", config_of(photos), None) == photos.resolve()


def test_a_run_from_elsewhere_reads_only_what_the_user_names(tmp_path: Path, photos: Path) -> None:
    with pytest.raises(UserError, match=r"not made here.*--images") as refused:
        trusted_root(tmp_path / "run", config_of(photos), None)
    assert "\n" not in str(refused.value)
    assert trusted_root(tmp_path / "run", config_of("/etc"), photos) == photos


def test_another_root_or_another_folder_is_not_covered_by_what_was_noted(tmp_path: Path, photos: Path) -> None:
    remember_root(tmp_path / "run", photos)
    with pytest.raises(UserError, match="not made here"):
        trusted_root(tmp_path / "run", config_of("/etc"), None)  # the config was exchanged
    with pytest.raises(UserError, match="not made here"):
        trusted_root(tmp_path / "another run", config_of(photos), None)


def test_a_relative_root_means_the_folder_it_meant_when_the_run_was_made(
    tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    remember_root(Path("run"), "photos")
    (tmp_path / "elsewhere" / "photos").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert trusted_root(tmp_path / "run", config_of("photos"), None) == photos.resolve()


def test_a_folder_that_is_gone_and_images_from_python_ask_for_a_folder(tmp_path: Path, photos: Path) -> None:
    remember_root(tmp_path / "run", photos)
    photos.rmdir()
    for images in (None, photos):
        with pytest.raises(UserError, match=r"does not exist.*--images"):
            trusted_root(tmp_path / "run", config_of(photos), images)
    remember_root(tmp_path / "run", None)
    with pytest.raises(UserError, match=r"given from Python.*--images"):
        trusted_root(tmp_path / "run", config_of(None), None)


def test_damaged_lines_are_passed_over_and_a_cut_one_does_not_spoil_the_next(
    tmp_path: Path, photos: Path, state: Path
) -> None:
    remember_root(tmp_path / "first", photos)
    with open(state, "ab") as file:
        file.write(
            b'\xff\x00 not text\n[]\n{"run": 3}\nnull\n{"run": "x", "named": "y", "root": null, "backbone": 1}\n{"ru'
        )
    remember_root(tmp_path / "second", photos)
    for run in ("first", "second"):
        assert trusted_root(tmp_path / run, config_of(photos), None) == photos.resolve()


def test_a_run_is_noted_once_and_only_for_its_user(tmp_path: Path, photos: Path, state: Path) -> None:
    for _ in range(3):
        remember_root(tmp_path / "run", photos, "efficientnet-lite0")
    noted = [json.loads(line) for line in state.read_text().splitlines() if line]
    assert len(noted) == 1
    assert state.stat().st_mode & 0o077 == 0


def test_a_state_folder_that_cannot_be_written_stops_no_run(tmp_path: Path, photos: Path, state: Path) -> None:
    state.parent.parent.mkdir()
    state.parent.write_text("a file where the folder should be")
    remember_root(tmp_path / "run", photos)
    with pytest.raises(UserError, match="not made here"):
        trusted_root(tmp_path / "run", config_of(photos), None)


def test_a_backbone_on_disk_is_loaded_only_if_the_user_named_it(tmp_path: Path, photos: Path) -> None:
    weights = tmp_path / "dino.pth"
    weights.touch()
    run, config = tmp_path / "run", config_of(photos, str(weights))
    for path in (str(weights), "../dino.pth", "~/dino.pth", "/nowhere/model"):
        with pytest.raises(UserError, match=r"not made here.*--backbone"):
            trusted_backbone(run, config_of(photos, path), None)
    assert trusted_backbone(run, config, "mine.pth") == "mine.pth"
    for name in ("efficientnet-lite0", "facebook/dino-vitb16"):
        assert trusted_backbone(run, config_of(photos, name), None) == name
    remember_root(run, photos, str(weights))
    assert trusted_backbone(run, config, None) == str(weights)
    with pytest.raises(UserError, match="not made here"):
        trusted_backbone(run, config_of(photos, "/other/weights.pth"), None)


@pytest.mark.parametrize(
    "name", ["/etc/hostname", "../secret.png", "a/../../secret.png", "..\\secret.png", "C:\\secret.png", "", "a\0b"]
)
def test_names_that_lead_out_of_the_folder_are_not_read(tmp_path: Path, photos: Path, name: str) -> None:
    with pytest.raises(UnreadableImage):
        FilesBelow(photos, (name,)).item(0)


def test_links_are_followed_only_inside_the_folder(tmp_path: Path, photos: Path) -> None:
    (tmp_path / "secret.png").touch()
    (tmp_path / "photos-too").mkdir()
    (photos / "a.png").touch()
    links = {"in.png": photos / "a.png", "out.png": tmp_path / "secret.png", "up": tmp_path}
    for name, target in links.items():
        (photos / name).symlink_to(target)
    (photos / "beside").symlink_to(tmp_path / "photos-too")
    assert FilesBelow(photos, ("in.png",)).item(0) == (photos / "a.png").resolve()
    assert FilesBelow(photos, ("not there.png",)).item(0) == photos.resolve() / "not there.png"
    for name in ("out.png", "up/secret.png", "beside/b.png"):
        with pytest.raises(UnreadableImage):
            FilesBelow(photos, (name,)).item(0)
