"""Images and labels as people have them: folders, CSV files of any make, arrays; and one clear line where they err."""

import os
import socket
import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image

from legogcd.collection import (
    Collection,
    ImageArrays,
    ImageFiles,
    Truth,
    as_images,
    eight_bit,
    find_images,
    from_folders,
    from_labels,
    from_python_labels,
    over_white,
    read_labels,
    read_truth,
)
from legogcd.errors import UserError
from legogcd.wording import skipped_files


def touch(root, *names):
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"x")


@pytest.fixture
def folder(tmp_path):
    touch(tmp_path, "cats/a 1.jpg", "cats/b,2.jpg", 'dogs/"c".png', "dogs/d.JPG", "dogs/é.png")
    return tmp_path


@pytest.fixture
def table(tmp_path):
    def write(content):
        path = tmp_path / "labels.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


class TestFindImages:
    def test_searches_recursively_in_the_order_of_plain_strings(self, tmp_path):
        touch(tmp_path, "b/x.png", "a.jpg", "B.PNG", "b/a/10.Jpeg", "b/a/9.tiff", "a/z.webp", "b-1/y.gif")
        expected = ["B.PNG", "a.jpg", "a/z.webp", "b-1/y.gif", "b/a/10.Jpeg", "b/a/9.tiff", "b/x.png"]
        images = find_images(tmp_path)
        assert list(images.names) == expected
        assert images.item(0) == tmp_path / "B.PNG"
        assert len(images) == 7

    def test_counts_other_files_and_passes_over_hidden_ones(self, tmp_path):
        touch(tmp_path, "a.jpg", "notes.txt", "b/Thumbs.db", "noending", ".hidden.jpg", "._a.jpg", ".git/x.png")
        images = find_images(str(tmp_path))
        assert images.names == ("a.jpg",)
        assert images.ignored == 3

    def test_follows_links_but_not_in_circles(self, tmp_path):
        touch(tmp_path, "photos/in/a.jpg", "elsewhere/b.jpg")
        (tmp_path / "photos/in/back").symlink_to(tmp_path / "photos", target_is_directory=True)
        (tmp_path / "photos/linked").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
        assert find_images(tmp_path / "photos").names == ("in/a.jpg", "linked/b.jpg")

    def test_broken_links_are_listed_to_be_reported_and_pipes_are_not_opened(self, tmp_path):
        touch(tmp_path, "a.jpg")
        (tmp_path / "gone.jpg").symlink_to(tmp_path / "nowhere")
        os.mkfifo(tmp_path / "pipe.jpg")
        (tmp_path / "album.jpg").mkdir()
        assert find_images(tmp_path).names == ("a.jpg", "gone.jpg")

    @pytest.mark.parametrize(
        ("files", "place", "words"),
        [
            ([], "missing", "does not exist"),
            (["a.jpg"], "a.jpg", "is a file"),
            ([], "", "it is empty"),
            (["a.mov", "b.mov", "c.txt"], "", r"no images .*only 2 × \.mov, 1 × \.txt"),
        ],
    )
    def test_what_is_no_folder_of_images_is_said(self, tmp_path, files, place, words):
        touch(tmp_path, *files)
        with pytest.raises(UserError, match=words):
            find_images(tmp_path / place)

    def test_a_folder_that_may_not_be_read_is_named(self, tmp_path, monkeypatch):
        touch(tmp_path, "a.jpg")

        def refuse(path):
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr(os, "scandir", refuse)
        with pytest.raises(UserError, match="Permission denied"):
            find_images(tmp_path)

    def test_names_that_are_not_utf8_are_images_like_others(self, tmp_path, table):
        name = os.fsdecode(b"caf\xe9,\r100%.jpg")
        touch(tmp_path, "a.jpg", name)
        images = find_images(tmp_path)
        assert set(images.names) == {"a.jpg", name}
        assert read_labels(table(b'path,label\n"caf\xe9,\r100%.jpg",x\n'), images) == {name: "x"}
        assert read_labels(table('path,label\n"%bytes:caf%E9,\r100%25.jpg",x\n'), images) == {name: "x"}

    def test_whatever_is_passed_over_has_a_reason_and_is_not_opened(self, tmp_path):
        touch(
            tmp_path,
            "a.jpg",
            "notes.txt",
            ".hidden.jpg",
            ".git/x.png",
            "run/config.json",
            "run/metrics.jsonl",
            "run/b.jpg",
        )
        (tmp_path / "loop.jpg").symlink_to(tmp_path / "loop.jpg")
        (tmp_path / "ring").symlink_to(tmp_path / "gnir")
        (tmp_path / "gnir").symlink_to(tmp_path / "ring")
        (tmp_path / "up").symlink_to(tmp_path, target_is_directory=True)
        (tmp_path / "screen.png").symlink_to("/dev/zero")
        os.mkfifo(tmp_path / "pipe.jpg")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.path.relpath(tmp_path / "socket.jpg"))
        (tmp_path / "album.jpg").mkdir()
        images = find_images(tmp_path)
        assert images.names == ("a.jpg",)
        assert images.skipped == {
            ".git": "hidden",
            ".hidden.jpg": "hidden",
            "album.jpg/": "is a folder",
            "gnir": "link in a circle",
            "loop.jpg": "link in a circle",
            "notes.txt": "not an image",
            "pipe.jpg": "not a regular file (a pipe)",
            "ring": "link in a circle",
            "run/": "run folder",
            "screen.png": "not a regular file (a device)",
            "socket.jpg": "not a regular file (a socket)",
            "up/": "link in a circle (to a folder it is in)",
        }
        assert skipped_files(images.skipped).startswith(
            "12 files left out: 4 link in a circle, 3 not a regular file, 2 hidden"
        )

    def test_a_sub_folder_that_may_not_be_read_is_passed_over(self, tmp_path, monkeypatch):
        touch(tmp_path, "a.jpg", "locked/b.jpg", "vanished/c.jpg")
        scan = os.scandir

        def refuse(path):
            if Path(path).name == "locked":
                raise PermissionError(13, "Permission denied", str(path))
            if Path(path).name == "vanished":
                raise FileNotFoundError(2, "No such file or directory", str(path))
            return scan(path)

        monkeypatch.setattr(os, "scandir", refuse)
        images = find_images(tmp_path)
        assert images.names == ("a.jpg",)
        assert images.skipped == {"locked/": "permission denied", "vanished": "file not found"}

    def test_links_out_of_the_folder_are_read_and_known(self, tmp_path):
        touch(tmp_path, "photos/in/a.jpg", "elsewhere/b.jpg", "elsewhere/c.jpg")
        (tmp_path / "photos/linked").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
        (tmp_path / "photos/c.jpg").symlink_to(tmp_path / "elsewhere/c.jpg")
        (tmp_path / "photos/d.jpg").symlink_to("in/a.jpg")
        (tmp_path / "link").symlink_to(tmp_path / "photos", target_is_directory=True)
        images = find_images(tmp_path / "link")
        assert images.names == ("c.jpg", "d.jpg", "in/a.jpg", "linked/b.jpg", "linked/c.jpg")
        assert images.leads_out == {"c.jpg", "linked/b.jpg", "linked/c.jpg"}

    def test_labels_of_files_passed_over_are_no_mistake(self, tmp_path, table):
        touch(tmp_path, "a.jpg")
        (tmp_path / "loop.jpg").symlink_to(tmp_path / "loop.jpg")
        assert read_labels(table("path,label\na.jpg,x\n./loop.jpg,y\n"), find_images(tmp_path)) == {"a.jpg": "x"}


class TestImageFiles:
    def test_fingerprint_follows_names_sizes_and_times(self, tmp_path):
        touch(tmp_path, "a.jpg", "b.jpg")
        images = find_images(tmp_path)
        seen = {images.fingerprint()}
        assert find_images(tmp_path).fingerprint() in seen
        seen.add(images.subset([0]).fingerprint())
        os.utime(tmp_path / "a.jpg", ns=(1, 1))
        seen.add(images.fingerprint())
        (tmp_path / "a.jpg").write_bytes(b"longer")
        os.utime(tmp_path / "a.jpg", ns=(1, 1))
        seen.add(images.fingerprint())
        (tmp_path / "a.jpg").rename(tmp_path / "c.jpg")
        seen.add(images.fingerprint())
        seen.add(find_images(tmp_path).fingerprint())
        assert len(seen) == 6

    def test_paths_from_python_keep_their_names(self, folder, monkeypatch, tmp_path_factory):
        monkeypatch.chdir(folder)
        absolute = str(folder / "dogs/d.JPG")
        images = as_images(["cats/b,2.jpg", Path("cats/a 1.jpg"), absolute])
        assert images.names == ("cats/b,2.jpg", "cats/a 1.jpg", absolute)
        monkeypatch.chdir(tmp_path_factory.mktemp("away"))
        assert all(images.item(i).is_file() for i in range(3))
        assert as_images(pd.Series([absolute])).names == as_images(np.array([absolute])).names == (absolute,)

    def test_missing_paths_are_counted_and_the_first_named(self, folder):
        with pytest.raises(UserError, match=r"2 of 3 image files not there, first '.*no\.jpg'"):
            as_images([folder / "no.jpg", folder / "dogs/d.JPG", folder / "dogs"])

    def test_a_folder_from_python_is_searched(self, folder):
        assert as_images(folder) == find_images(folder)
        assert as_images(as_images(folder)) == find_images(folder)


class TestImageArrays:
    @given(hnp.arrays(np.uint8, (2, 5, 7, 3)))
    @settings(max_examples=25, deadline=None)
    def test_every_layout_and_type_gives_the_same_pixels(self, pixels):
        first = pixels.transpose(0, 3, 1, 2)
        floats = torch.from_numpy(first / np.float32(255))
        for given_as in (
            pixels,
            first,
            pixels.astype(np.int64),
            pixels / 255.0,
            list(first),
            torch.from_numpy(pixels),
            torch.from_numpy(np.ascontiguousarray(first)),
            floats,
            [floats[0], pixels[1]],
            [Image.fromarray(image) for image in pixels],
            np.concatenate([pixels, np.full((2, 5, 7, 1), 255, np.uint8)], axis=-1),
        ):
            images = as_images(given_as)
            for i in range(2):
                made = images.item(i)
                assert made.dtype == np.uint8
                assert made.flags.c_contiguous
                np.testing.assert_array_equal(made, pixels[i])

    def test_grey_images_and_masks_get_three_channels(self):
        grey = np.arange(60, dtype=np.uint8).reshape(2, 5, 6)
        for given_as in (grey, grey[..., None], grey[:, None], torch.from_numpy(grey)[:, None], list(grey)):
            np.testing.assert_array_equal(as_images(given_as).item(1), np.stack([grey[1]] * 3, axis=-1))
        assert as_images([np.array([[True, False]])]).item(0)[..., 0].tolist() == [[255, 0]]
        assert as_images(torch.full((1, 1, 2, 2), 0.5, dtype=torch.bfloat16)).item(0).tolist() == [[[128] * 3] * 2] * 2

    def test_where_both_readings_fit_tensors_have_channels_first_and_arrays_last(self):
        cube = np.arange(27, dtype=np.uint8).reshape(1, 3, 3, 3)
        np.testing.assert_array_equal(as_images(cube).item(0), cube[0])
        np.testing.assert_array_equal(as_images(torch.from_numpy(cube)).item(0), cube[0].transpose(1, 2, 0))

    def test_transparent_pixels_lie_on_white(self):
        rgba = np.array([[[[10, 20, 30, 255], [10, 20, 30, 0], [0, 100, 200, 128]]]], np.uint8)
        expected = [[[10, 20, 30], [255, 255, 255], [127, 177, 227]]]
        assert as_images(rgba).item(0).tolist() == expected
        assert as_images([Image.fromarray(rgba[0])]).item(0).tolist() == expected

    def test_pillow_images_are_upright_and_of_any_mode(self):
        deep = Image.fromarray(np.array([[0, 65535, 32768]], np.uint16))
        assert as_images([deep]).item(0)[..., 0].tolist() == [[0, 255, 128]]
        turned = Image.fromarray(np.array([[1, 2]], np.uint8))
        turned.getexif()[0x0112] = 6
        assert as_images([turned]).item(0)[..., 0].tolist() == [[1], [2]]
        assert as_images([Image.new("CMYK", (2, 2))]).item(0).tolist() == [[[255] * 3] * 2] * 2

    def test_images_may_differ_in_size_and_subsets_keep_names(self):
        images = as_images(
            [np.full((2, 3, 3), 1, np.uint8), np.full((4, 5), 2, np.uint8), np.zeros((3, 6, 6), np.uint8)]
        )
        assert images.names == ("image-000000", "image-000001", "image-000002")
        part = images.subset(np.array([2, 1])).subset([1])
        assert part.names == ("image-000001",)
        assert part.item(0).shape == (4, 5, 3)
        assert len(part) == 1

    def test_fingerprint_follows_the_pixels(self):
        pixels = np.zeros((2, 4, 4, 3), np.uint8)
        plain = as_images(pixels).fingerprint()
        assert as_images(list(pixels / 1.0)).fingerprint() == plain
        assert as_images(pixels.reshape(2, 2, 8, 3)).fingerprint() != plain
        pixels[1, 2, 3, 1] = 1
        assert as_images(pixels).fingerprint() != plain

    @pytest.mark.parametrize(
        ("images", "words"),
        [
            (np.full((2, 4, 4, 3), 17.0), "values from 17 to 17.*0..1"),
            ([np.zeros((4, 4)), np.full((4, 4), np.nan)], "image 1 has values from nan"),
            (np.full((2, 5, 5), 256), r"0\.\.255"),
            (np.full((2, 5, 5), -1), r"0\.\.255"),
            (np.zeros((4, 4, 3), np.uint8), "looks like one image"),
            (np.zeros((4, 64), np.uint8), r"shape \[4, 64\]"),
            (np.zeros((0, 5, 5), np.uint8), "empty"),
            (np.zeros((2, 0, 4, 3), np.uint8), "no pixel"),
            (np.zeros((2, 5, 6, 7), np.uint8), r"shape \[5, 6, 7\]"),
            (np.zeros((2, 5, 5), complex), "complex"),
            ([], "empty"),
            ([3, 4], "image 0 is a int"),
            ([np.zeros((4, 4), np.uint8), "a.jpg"], "mixed"),
            (Image.new("L", (2, 2)), "pass a list"),
            ({"a": 1}, "dict"),
            (7, "int"),
            (None, "NoneType"),
        ],
    )
    def test_what_is_no_image_is_said(self, images, words):
        with pytest.raises(UserError, match=words):
            as_images(images)


class TestDepth:
    @pytest.mark.parametrize(
        ("values", "expected"),
        [
            (np.array([0, 255, 256, 65535], np.uint16), [0, 0, 1, 255]),
            (np.array([0, 255, 256, 65535], ">u2"), [0, 0, 1, 255]),
            (np.array([0, 65535], np.int32), [0, 255]),
            (np.array([0, 200], np.int32), [0, 200]),
            (np.array([-100, 0, 155], np.int32), [0, 100, 255]),
            (np.array([0, 0.5, 1], np.float32), [0, 128, 255]),
            (np.array([0, 2, 255], np.float32), [0, 2, 255]),
            (np.array([-1, 0, 3], np.float32), [0, 64, 255]),
            (np.array([0, 1000, 4000], np.float32), [0, 64, 255]),
            (np.array([np.nan, np.inf, 1], np.float32), [0, 0, 255]),
            (np.array([np.nan, np.nan], np.float32), [0, 0]),
            (np.array([-5, -5], np.float32), [0, 0]),
            (np.array([True, False]), [255, 0]),
        ],
    )
    def test_other_depths_are_scaled_to_eight_bits(self, values, expected):
        assert eight_bit(values).tolist() == expected

    @given(hnp.arrays(np.uint8, (3, 4)))
    @settings(max_examples=25, deadline=None)
    def test_alpha_mixes_with_white(self, rgba):
        weight = rgba[:, 3:] / 255
        expected = rgba[:, :3] * weight + 255 * (1 - weight)
        assert np.abs(over_white(rgba[None])[0] - expected).max() <= 0.5 + 1e-9


class TestReadLabels:
    def test_reads_names_as_they_are(self, folder, table):
        rows = ["cats/a 1.jpg,cat", '"cats/b,2.jpg",cat', '"dogs/""c"".png",a dog', "dogs/é.png, Ünïcode "]
        path = table("\n".join(["path,label", *rows]))
        assert read_labels(path, find_images(folder)) == {
            "cats/a 1.jpg": "cat",
            "cats/b,2.jpg": "cat",
            'dogs/"c".png': "a dog",
            "dogs/é.png": "Ünïcode",
        }

    @pytest.mark.parametrize(
        "content",
        [
            b"\xef\xbb\xbfpath,label\r\ncats/a 1.jpg,cat\r\n\r\n",
            b"label,note,path\ncat,x,cats/a 1.jpg\n",
            b" Path , LABEL \ncats/a 1.jpg, cat \n",
            b"path,label\n./cats/a 1.jpg,cat\n",
            b"path,label\ncats\\a 1.jpg,cat\n",
            b"path,label\n.\\cats\\a 1.jpg,cat",
            b"path,label\n cats/a 1.jpg ,cat\n",
            b"path,label\ncats//x/../a 1.jpg,cat\n",
            b"path,label\ncats/a 1.jpg,cat\ncats/a 1.jpg,cat\ncats/a 1.jpg,\n./cats/a 1.jpg,cat\n",
            b"path,label\ncats/a 1.jpg,cat\ndogs/d.JPG,\n",
            b'"path","label"\n"cats/a 1.jpg","cat"\n,\n',
        ],
    )
    def test_other_spellings_mean_the_same(self, folder, table, content):
        assert read_labels(table(content), find_images(folder)) == {"cats/a 1.jpg": "cat"}

    def test_absolute_paths_and_links_to_the_folder(self, folder, table, monkeypatch, tmp_path_factory):
        link = tmp_path_factory.mktemp("links") / "photos"
        link.symlink_to(folder, target_is_directory=True)
        path = table(f"path,label\n{folder.resolve()}/dogs/d.JPG,dog\n{link}/cats/a 1.jpg,cat\n")
        expected = {"dogs/d.JPG": "dog", "cats/a 1.jpg": "cat"}
        assert read_labels(path, find_images(link)) == expected
        monkeypatch.chdir(folder.parent)
        assert read_labels(table(f"path,label\n{folder.absolute()}/dogs/d.JPG,dog\n"), find_images(folder.name)) == {
            "dogs/d.JPG": "dog"
        }

    @pytest.mark.parametrize(("on_disk", "written"), [("NFC", "NFD"), ("NFD", "NFC")])
    def test_both_unicode_forms_of_a_name_are_one(self, tmp_path, table, on_disk, written):
        touch(tmp_path, unicodedata.normalize(on_disk, "übung/é.jpg"))
        path = table(f"path,label\n{unicodedata.normalize(written, 'übung/é.jpg')},x\n")
        assert list(read_labels(path, find_images(tmp_path)).values()) == ["x"]

    def test_an_exact_name_wins_over_a_similar_one(self, tmp_path, table):
        forms = [unicodedata.normalize(form, "é.jpg") for form in ("NFC", "NFD")]
        touch(tmp_path, *forms, " s.jpg", "s.jpg")
        images = ImageFiles(tmp_path, (*forms, " s.jpg", "s.jpg"))
        path = table(f"path,label\n{forms[0]},c\n{forms[1]},d\n s.jpg,spaced\ns.jpg,plain\n")
        assert read_labels(path, images) == {forms[0]: "c", forms[1]: "d", " s.jpg": "spaced", "s.jpg": "plain"}

    def test_a_spelling_that_two_images_share_is_not_guessed(self, tmp_path, table):
        images = ImageFiles(tmp_path, tuple(unicodedata.normalize(form, "é.jpg") for form in ("NFC", "NFD")))
        with pytest.raises(UserError, match="1 image not there"):
            read_labels(table("path,label\n./é.jpg,x\n"), images)

    def test_a_newline_in_a_name(self, tmp_path, table):
        touch(tmp_path, "two\nlines.jpg")
        path = table('path,label\n"two\nlines.jpg",x\n')
        assert read_labels(path, find_images(tmp_path)) == {"two\nlines.jpg": "x"}

    @given(
        st.lists(
            st.text(st.characters(codec="utf-8", exclude_characters="/\\\0\r"), min_size=1, max_size=8).filter(
                lambda name: name.strip(" .") != ""
            ),
            min_size=1,
            max_size=6,
            unique=True,
        )
    )
    @settings(max_examples=25, deadline=None)
    def test_what_pandas_writes_is_read_back(self, tmp_path_factory, stems):
        names = tuple(f"{stem}.jpg" for stem in stems)
        path = tmp_path_factory.mktemp("csv") / "labels.csv"
        pd.DataFrame({"path": names, "label": "x"}).to_csv(path, index=False)
        assert read_labels(path, ImageFiles(path.parent, names)) == dict.fromkeys(names, "x")

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (
                "path,label\ncats/a 1.jpg,cat\ncats/a 1.jpg,dog\n",
                r"line 3: 'cats/a 1.jpg' is labelled 'dog' here and 'cat'",
            ),
            ("path,label\ncats/a 1.jpg,cat\n./cats/a 1.jpg,dog\n", "keep one"),
            (
                "path,label\n1.jpg,a\n2.jpg,a\n3.jpg,a\n4.jpg,a\n",
                "4 images not there: '1.jpg', '2.jpg', '3.jpg' and 1 more",
            ),
            ("path,label\nlabels.csv,a\n", "1 file not taken for an image: 'labels.csv'"),
            ("path,label\nlabels.csv,a\nx.jpg,b\n", "2 images not there .1 of them other files"),
            ("path,label\n" + "x" * 5000 + ",a\n", "1 image not there"),
            ("", "is empty"),
            ("\ufeff \n", "is empty"),
            ("path,label\n", "no rows"),
            ("file,label\na,b\n", "header 'path,label'; it begins with 'file,label'"),
            ("path:label\na:b\n", "needs the header 'path,label'"),
            ("path,path,label\na,b,c\n", "header"),
            ("path,label\ncats/b,2.jpg,cat\n", "line 2 has 3 cells, the header 2"),
            ("path,label\ncats/a 1.jpg\n", "line 2 has 1 cell"),
            ("path,label\n,cat\n", "line 2 has no path"),
            ('path,label\n"cats/a 1.jpg,cat\n', "not valid CSV"),
            ("path,label\ncats/a 1.jpg,new-001\n", "'new-001'.*found groups"),
            (b"path,label\ncaf\xe9.jpg,cat\n", "not UTF-8"),
            (b"\xff\xfea", "begins as UTF-16 text and is not"),
        ],
    )
    def test_what_is_wrong_is_said_in_one_line(self, folder, table, content, words):
        with pytest.raises(UserError, match=words) as error:
            read_labels(table(content), find_images(folder))
        assert "\n" not in str(error.value)

    def test_a_missing_file_is_named(self, folder):
        with pytest.raises(UserError, match=r"cannot read '.*no\.csv': No such file"):
            read_labels(folder / "no.csv", find_images(folder))

    def test_names_that_only_resemble_found_groups_are_allowed(self, folder, table):
        path = table("path,label\ncats/a 1.jpg,new-york\ndogs/d.JPG,new-1b\n")
        assert set(read_labels(path, find_images(folder)).values()) == {"new-york", "new-1b"}


def named(*names):
    return ImageFiles(Path("photos"), names)


class TestCollection:
    def test_known_classes_are_sorted_as_strings(self):
        collection = from_labels(named("1", "2", "3", "4"), {"1": "b", "3": "B", "4": "10"})
        assert collection.known == ("10", "B", "b")
        assert collection.labels.tolist() == [2, -1, 1, 0]
        assert collection.labels.dtype == np.int64
        assert collection.labelled.tolist() == [True, False, True, True]
        assert (collection.n_known, len(collection)) == (3, 4)
        assert collection.counts() == {"10": 1, "B": 1, "b": 1}

    def test_labels_for_images_that_are_not_there_are_refused(self):
        with pytest.raises(UserError, match="1 label for images that are not there: 'x'"):
            from_labels(named("1"), {"x": "a"})

    def test_keeping_rows_forgets_classes_without_labelled_images(self):
        collection = from_labels(named(*"12345"), {"1": "a", "2": "b", "3": "c", "4": "c"})
        kept = collection.keep([4, 3, 0])
        assert kept.images.names == ("5", "4", "1")
        assert kept.known == ("a", "c")
        assert kept.labels.tolist() == [-1, 1, 0]
        assert kept.check(2)[0] == "known class 'b' has no labelled image left and counts as new"
        assert collection.keep(np.arange(5)).notes == ()

    @pytest.mark.parametrize(
        ("n_classes", "labels", "words"),
        [
            (1, {"1": "a"}, "at least 2"),
            (3, {}, "no image is labelled"),
            (2, {"1": "a", "2": "b", "3": "c"}, "3 classes are labelled but only 2"),
            (7, {"1": "a"}, "only 6 images"),
            (6, {"1": "a", "2": "a", "3": "b"}, "4 new ones, but only 3 images without a label"),
            (3, dict.fromkeys("123456", "a"), "2 new ones, but only 0 images"),
        ],
    )
    def test_contradictory_counts_are_refused(self, n_classes, labels, words):
        with pytest.raises(UserError, match=words):
            from_labels(named(*"123456"), labels).check(n_classes)

    @pytest.mark.parametrize(
        ("n_classes", "labels", "expected"),
        [
            (3, {"1": "a", "2": "a", "3": "b", "4": "b"}, []),
            (3, {"1": "a", "2": "a"}, ["only one class is labelled ('a')"]),
            (3, {"1": "a", "2": "a", "3": "b"}, ["1 known class with a single labelled image: 'b'"]),
            (2, {"1": "a", "2": "a", "3": "b", "4": "b"}, ["all 2 classes are known"]),
            (2, dict(zip("123456", "aaabbb", strict=True)), ["every image is labelled"]),
        ],
    )
    def test_odd_counts_are_warned_of(self, n_classes, labels, expected):
        warnings = from_labels(named(*"123456"), labels).check(n_classes)
        assert len(warnings) == len(expected)
        assert all(warning.startswith(start) for warning, start in zip(warnings, expected, strict=True))

    def test_single_images_are_named_up_to_five(self):
        collection = from_labels(named(*"12345678"), {str(i): f"c{i}" for i in range(1, 8)})
        assert collection.check(8) == [
            "7 known classes with a single labelled image: 'c1', 'c2', 'c3', 'c4', 'c5' and 2 more"
        ]

    def test_labels_that_do_not_fit_cannot_be_made(self):
        with pytest.raises(ValueError, match="shape"):
            Collection(named("1"), np.array([0, 0]), ("a",))
        with pytest.raises(ValueError, match="position"):
            Collection(named("1"), np.array([1]), ("a",))


class TestFromFolders:
    names = tuple(f"{c}/{i:02d}.jpg" for c in ("ant", "bee", "cat", "dog") for i in range(11))

    def test_draws_the_papers_labelled_half(self):
        np.random.seed(0)
        drawn = set(np.random.choice(range(33), int(0.5 * 33), replace=False).tolist())
        old = [name for name in sorted(self.names) if name.split("/")[0] != "bee"]
        expected = {old[i] for i in drawn}
        for order in (1, -1):  # sorted path order, whatever order the images come in
            collection, truth = from_folders(named(*self.names[::order]), ["dog", "ant", "cat"])
            labelled = {n: i for n, i in zip(collection.images.names, collection.labels, strict=True) if i >= 0}
            assert set(labelled) == expected
            assert collection.known == ("dog", "ant", "cat")
            assert all(collection.known[i] == name.split("/")[0] for name, i in labelled.items())
            assert truth.n_classes(collection) == 4

    @pytest.mark.parametrize(("share", "expected"), [(1.0, 22), (0.1, 2), (0.77, int(0.77 * 22))])
    def test_share_is_of_all_known_images(self, share, expected):
        collection, _ = from_folders(named(*self.names), ["ant", "dog"], share)
        assert collection.labelled.sum() == expected

    def test_truth_is_the_first_folder_and_loose_images_have_none(self):
        images = named("loose.jpg", *self.names, "bee/deep/er.jpg")
        collection, truth = from_folders(images, ["cat", "ant"])
        codes = dict(zip(images.names, truth.encode(collection).tolist(), strict=True))
        assert codes["loose.jpg"] == -1
        assert [codes[f"{c}/00.jpg"] for c in ("cat", "ant", "bee", "dog")] == [0, 1, 2, 3]
        assert codes["bee/deep/er.jpg"] == 2

    def test_a_class_without_a_drawn_image_counts_as_new_and_is_told(self):
        images = named(*(f"big/{i:03d}.jpg" for i in range(40)), "other/1.jpg", "tiny/1.jpg")
        collection, truth = from_folders(images, ["tiny", "big"], 0.25)
        assert collection.known == ("big",)
        assert truth.encode(collection)[-1] == 2
        assert "known class 'tiny' got no labelled image in the draw and counts as new" in collection.check(3)

    def test_known_names_match_whatever_their_unicode_form(self):
        images = named(*(f"{unicodedata.normalize('NFD', 'café')}/{i}.jpg" for i in range(4)), "x/1.jpg")
        collection, _ = from_folders(images, [unicodedata.normalize("NFC", "café")])
        assert collection.labelled.sum() == 2

    @pytest.mark.parametrize(
        ("names", "known", "share", "words"),
        [
            (names, ["catt"], 0.5, "no folder 'catt'.*did you mean 'cat'.*'ant', 'bee', 'cat', 'dog'"),
            (tuple(f"{i:02d}/a.jpg" for i in range(12)), ["zebra"], 0.5, "'09' and 2 more"),
            (names, ["cat", "ant", "cat"], 0.5, "named twice: 'cat'"),
            (names, [], 0.5, "no known class"),
            (names, ["cat"], 0, "share is 0"),
            (names, ["cat"], 1.5, "share is 1.5"),
            (names, ["cat"], float("nan"), "share is nan"),
            (("a.jpg", "b.jpg"), ["cat"], 0.5, "in no sub-folders"),
            (("new-1/a.jpg", "b/b.jpg"), ["new-1"], 0.5, "kept for found groups"),
        ],
    )
    def test_what_cannot_be_drawn_is_said(self, names, known, share, words):
        with pytest.raises(UserError, match=words):
            from_folders(named(*names), known, share)


class TestTruth:
    def test_known_names_keep_their_ids_and_others_follow_sorted(self):
        collection = from_labels(named(*"12345"), {"1": "m", "2": "c"})
        truth = Truth({"1": "m", "2": "c", "3": "z", "4": "a", "x": "unseen"})
        assert truth.encode(collection).tolist() == [1, 0, 3, 2, -1]
        assert truth.n_classes(collection) == 4
        assert truth.encode(collection.keep([0, 2])).tolist() == [0, 1]

    def test_reads_a_file_and_counts_what_it_cannot_place(self, folder, table):
        path = table("path,label\ncats/a 1.jpg,cat\ngone.jpg,dog\ndogs/d.JPG,\n")
        truth = read_truth(path, find_images(folder))
        assert dict(truth.labels) == {"cats/a 1.jpg": "cat"}
        assert truth.unmatched == 1

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            ("path,label\ngone.jpg,dog\n", "1 image not there"),
            ("path,label\ncats/a 1.jpg,\n", "every label in it is empty"),
        ],
    )
    def test_a_truth_of_nothing_is_refused(self, folder, table, content, words):
        with pytest.raises(UserError, match=words):
            read_truth(table(content), find_images(folder))


class TestPythonLabels:
    images = ImageArrays.over(np.zeros((5, 4, 4), np.uint8))

    @pytest.mark.parametrize(
        "labels",
        [
            [10, -1, 2, 10, -1],
            (10, None, 2, 10, float("nan")),
            np.array([10, -1, 2, 10, -1], np.int8),
            np.array([10, np.nan, 2, 10, -1]),
            torch.tensor([10, -1, 2, 10, -1]),
            pd.Series([10, None, 2, 10, None]),
            pd.Series([10, None, 2, 10, -1], dtype="Int64"),
            [np.int64(10), np.float32("nan"), torch.tensor(2), 10.0, -1],
        ],
    )
    def test_numbers_of_every_kind(self, labels):
        collection, values = from_python_labels(self.images, labels)
        assert collection.labels.tolist() == [1, -1, 0, 1, -1]
        assert collection.known == ("2", "10")
        assert values == [2, 10]
        assert all(type(value) is int for value in values)

    @pytest.mark.parametrize(
        "labels",
        [
            ["b", None, "a", "b", -1],
            ["b", "", "a", "b", float("nan")],
            np.array(["b", -1, "a", "b", -1]),
            np.array(["b", None, "a", "b", np.nan], dtype=object),
            pd.Series(["b", None, "a", "b", pd.NA]),
            pd.Series(["b", None, "a", "b", None], dtype="category"),
        ],
    )
    def test_strings_of_every_kind(self, labels):
        collection, values = from_python_labels(self.images, labels)
        assert collection.labels.tolist() == [1, -1, 0, 1, -1]
        assert values == ["a", "b"]
        assert all(type(value) is str for value in values)

    @pytest.mark.parametrize(
        ("labels", "words"),
        [
            ([0, 1], "5 images but 2 labels"),
            (np.array(3), "5 images but 1 label;"),
            ([0, 1, "a", -1, -1], r"mix numbers \(0\) and strings \('a'\)"),
            ([0, -2, 1, 1, 1], "-2 is negative"),
            ([0, 1.5, 1, 1, 1], "1.5 is neither"),
            ([[0], [1], [1], [1], [1]], "neither"),
            (["new-007", "a", "a", "a", "a"], "kept for found groups"),
        ],
    )
    def test_what_is_no_label_is_said(self, labels, words):
        with pytest.raises(UserError, match=words):
            from_python_labels(self.images, labels)

    def test_no_labels_at_all_is_left_to_the_check(self):
        collection, values = from_python_labels(self.images, None)
        assert values == []
        with pytest.raises(UserError, match="no image is labelled"):
            collection.check(3)


class TestSpreadsheets:
    """What a spreadsheet makes of a label file is read where it can mean one thing only, and said."""

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"path;label\r\ncats/a 1.jpg;cat\r\n", ["separated by semicolons"]),
            (b"\xef\xbb\xbfpath\tlabel\ncats/a 1.jpg\tcat\n", ["separated by tabs"]),
            ("path\tlabel\ncats/a 1.jpg\tcat\n".encode("utf-16"), ["separated by tabs"]),
            (b'"path";"label";"by; whom"\n"cats/a 1.jpg";cat;"a; b"\n', ["separated by semicolons"]),
            (b"label,path\ncat,cats/a 1.jpg\n", []),
        ],
    )
    def test_separators_and_marks(self, folder, table, content, said):
        notes: list[str] = []
        assert read_labels(table(content), find_images(folder), notes.append) == {"cats/a 1.jpg": "cat"}
        assert len(notes) == len(said)
        assert all(part in note for part, note in zip(said, notes, strict=True))

    def test_letters_that_western_and_central_europe_share(self, folder, table):
        notes: list[str] = []
        labels = read_labels(table(b"path,label\ncats/a 1.jpg,K\xfche\n"), find_images(folder), notes.append)
        assert labels == {"cats/a 1.jpg": "Kühe"}
        assert "read as Latin-1 ('Kühe')" in notes[0]

    @pytest.mark.parametrize(
        ("label", "words"),
        [
            (b"ko\xe8ka", "line 2 is not UTF-8 text \\('koèka' or 'kočka'\\?\\)"),
            (b"\xf1\xee\xe2\xe0", "not UTF-8"),  # Cyrillic
            (b"\x94L", "not UTF-8"),  # Japanese
        ],
    )
    def test_what_may_mean_two_things_is_refused(self, folder, table, label, words):
        with pytest.raises(UserError, match=words):
            read_labels(table(b"path,label\ncats/a 1.jpg," + label + b"\n"), find_images(folder))

    def test_a_path_on_disk_shows_how_the_file_was_written(self, tmp_path, table):
        touch(tmp_path, "pièce/1.jpg", "b.jpg")
        content = b"path,label\npi\xe8ce/1.jpg,caf\xe8\n"
        assert read_labels(table(content), find_images(tmp_path)) == {"pièce/1.jpg": "cafè"}
