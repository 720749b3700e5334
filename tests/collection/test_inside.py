"""A name from somebody else's file means an image below the folder, or it is refused."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from legogcd.collection import inside
from legogcd.errors import UserError


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "photos"
    (root / "cats").mkdir(parents=True)
    (root / "cats/a.jpg").write_bytes(b"x")
    (tmp_path / "secret.jpg").write_bytes(b"s")
    (tmp_path / "photos-2").mkdir()
    (tmp_path / "photos-2/b.jpg").write_bytes(b"s")
    return root


def test_names_below_the_folder_are_found_also_by_links_that_stay(root, tmp_path):
    real = root.resolve() / "cats/a.jpg"
    assert inside(root, "cats/a.jpg") == inside(root, "./cats//a.jpg") == real
    (root / "link.jpg").symlink_to("cats/a.jpg")
    (root / "kittens").symlink_to(root / "cats", target_is_directory=True)
    assert inside(root, "link.jpg") == inside(root, "kittens/a.jpg") == real
    (tmp_path / "album").symlink_to(root, target_is_directory=True)
    assert inside(tmp_path / "album", "cats/a.jpg") == real
    assert inside(root, "not/yet.jpg") == root.resolve() / "not/yet.jpg"


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd", "../secret.jpg", "cats/../../secret.jpg", "cats/..", "..", ".", "", "./", "//etc/passwd",
        "a\0.jpg", "cats/../cats/a.jpg", "..\\secret.jpg", "C:\\secret.jpg", "\\\\host\\share\\a.jpg", "C:secret.jpg",
        "\\secret.jpg", "../photos-2/b.jpg", "out.jpg", "away/secret.jpg", "away/photos-2/b.jpg", "hop.jpg",
        "loop.jpg", "loop.jpg/a", "cats/a.jpg/b", "x" * 5000, "gone-out.jpg", "next/b.jpg",
    ],
)  # fmt: skip
def test_tricks_are_refused_in_one_line(root, tmp_path, name):
    (root / "out.jpg").symlink_to(tmp_path / "secret.jpg")
    (root / "away").symlink_to(tmp_path, target_is_directory=True)
    (root / "next").symlink_to("../photos-2", target_is_directory=True)
    (root / "hop.jpg").symlink_to("out.jpg")
    (root / "loop.jpg").symlink_to("loop.jpg")
    (root / "gone-out.jpg").symlink_to(tmp_path / "nothing.jpg")
    with pytest.raises(UserError) as error:
        inside(root, name)
    assert str(error.value).isprintable()


@given(st.lists(st.sampled_from(["..", ".", "", "cats", "away", "up", "a.jpg", "\\..", "~", "secret.jpg"]), max_size=6))
@settings(max_examples=200, deadline=None)
def test_no_path_leads_out(tmp_path_factory, parts):
    root = tmp_path_factory.getbasetemp() / "tricks" / "photos"
    if not root.exists():
        (root / "cats").mkdir(parents=True)
        (root / "away").symlink_to("/", target_is_directory=True)
        (root / "cats/up").symlink_to("..", target_is_directory=True)
    try:
        path = inside(root, "/".join(parts))
    except UserError:
        return
    assert os.path.realpath(path).startswith(os.path.realpath(root) + os.sep)
