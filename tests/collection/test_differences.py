"""What a run records of its collection, and how it says what is different when it goes on."""

import os

import numpy as np
import pytest

from legogcd.collection import Collection, CollectionRecord, as_images, find_images, from_labels, what_differs
from legogcd.collection.look_alikes import look_alikes

NAMES = tuple(f"{stem}.jpg" for stem in "abcdef")


@pytest.fixture
def photos(tmp_path):
    for number, name in enumerate(NAMES):
        (tmp_path / name).write_bytes(b"x" * (number + 1))
        os.utime(tmp_path / name, ns=(1, 1))
    return tmp_path


def collection(folder, **labels):
    return from_labels(find_images(folder), {f"{stem}.jpg": label for stem, label in labels.items()})


def record(folder, **labels):
    return CollectionRecord.of(collection(folder, **labels))


LABELS = {"a": "owl", "b": "owl", "c": "hen"}


def both_ways(before, now):
    """(kinds by digests alone, sentences with the whole record)"""
    recorded = before.digests()
    kinds = [difference.kind for difference in what_differs(recorded, now)]
    return kinds, [difference.sentence for difference in what_differs(recorded, now, before)]


def test_the_same_collection_differs_in_nothing(photos):
    assert both_ways(record(photos, **LABELS), record(photos, **LABELS)) == ([], [])


def test_swapped_labels_are_noticed_and_named(photos):
    kinds, said = both_ways(record(photos, **LABELS), record(photos, a="hen", b="owl", c="owl"))
    assert kinds == ["labels"]
    assert said == ["2 images labelled otherwise than before: 'a.jpg', 'c.jpg'"]


def test_swapped_files_are_noticed_and_named(photos):
    before = record(photos, **LABELS)
    (photos / "a.jpg").rename(photos / "x")
    (photos / "b.jpg").rename(photos / "a.jpg")
    (photos / "x").rename(photos / "b.jpg")
    kinds, said = both_ways(before, record(photos, **LABELS))
    assert kinds == ["sizes"]
    assert said == ["2 images of another size than before: 'a.jpg', 'b.jpg'"]


def test_a_file_written_again_is_told_from_one_of_another_size(photos):
    before = record(photos, **LABELS)
    (photos / "f.jpg").write_bytes(b"y" * 6)
    kinds, said = both_ways(before, record(photos, **LABELS))
    assert kinds == ["times"]
    assert said == ["1 image written again since, of the same size: 'f.jpg'"]


def test_images_that_came_and_went_are_named(photos):
    before = record(photos, **LABELS)
    (photos / "f.jpg").rename(photos / "g.jpg")
    (photos / "h.jpg").write_bytes(b"x")
    kinds, said = both_ways(before, record(photos, **LABELS))
    assert kinds == ["names"]
    assert said == ["1 image no longer there: 'f.jpg'", "2 images not there before: 'g.jpg', 'h.jpg'"]
    by_digests = what_differs(before.digests(), record(photos, **LABELS))
    assert by_digests[0].sentence.endswith("(6 then, 7 now)")


def test_a_record_survives_its_file_whatever_the_names(photos, tmp_path):
    (photos / os.fsdecode(b"caf\xe9,\r.jpg")).write_bytes(b"x")
    before = record(photos, **LABELS)
    before.write(tmp_path / "collection.csv")
    assert CollectionRecord.read(tmp_path / "collection.csv") == before


def test_a_record_that_is_not_the_digests_own_is_not_believed(photos):
    before, other = record(photos, **LABELS), record(photos, a="hen", b="hen", c="owl")
    now = record(photos, **(LABELS | {"a": "hen"}))
    assert [found.sentence for found in what_differs(before.digests(), now, other)] == ["images have other labels"]


def test_the_digest_of_labels_follows_labels_and_not_their_order(photos):
    whole = collection(photos, **LABELS)
    assert (
        whole.keep([5, 4, 3, 2, 1, 0]).labels_digest()
        == whole.labels_digest()
        == record(photos, **LABELS).digests()["labels"]
    )
    renumbered = Collection(whole.images, np.array([0, 0, 1, -1, -1, -1]), ("owl", "hen"))
    assert renumbered.labels_digest() == whole.labels_digest()
    assert collection(photos, **(LABELS | {"c": "owl"})).labels_digest() != whole.labels_digest()
    assert collection(photos, a="owl", b="owl").labels_digest() != whole.labels_digest()


def test_the_fingerprint_by_content_sees_what_size_and_time_hide(photos):
    images = find_images(photos)
    plain, content = images.fingerprint(), images.fingerprint(content=True)
    (photos / "f.jpg").write_bytes(b"y" * 6)
    os.utime(photos / "f.jpg", ns=(1, 1))
    assert images.fingerprint() == plain
    assert images.fingerprint(content=True) != content
    (photos / "f.jpg").write_bytes(b"x" * 6)
    assert images.fingerprint() != plain
    assert images.fingerprint(content=True) == content
    (photos / "f.jpg").unlink()
    os.mkfifo(photos / "f.jpg")  # which must not be opened: that would wait forever
    assert images.fingerprint(content=True) != content


def test_arrays_are_recorded_by_name_and_label():
    images = as_images(np.zeros((2, 8, 8), np.uint8))
    assert images.fingerprint(content=True) == images.fingerprint()
    before, now = (CollectionRecord.of(from_labels(images, {"image-000000": label})) for label in "ab")
    assert both_ways(before, now)[1] == ["1 image labelled otherwise than before: 'image-000000'"]


class TestLookAlikes:
    def test_classes_that_differ_by_case_are_said_and_stay_two(self, photos):
        found = collection(photos, a="Owl", b="owl", c="owl", d="Owl")
        assert found.known == ("Owl", "owl")
        assert "2 classes, 1 pair differs only by case: 'Owl' and 'owl'" in found.check(3)

    def test_sixteen_classes_of_eight_pairs(self, tmp_path):
        pairs = {f"{name}-{stem}": name for stem in "ab" for i in range(8) for name in (f"Bird {i}", f"bird {i}")}
        for name in pairs:
            (tmp_path / f"{name}.jpg").write_bytes(b"x")
        found = from_labels(find_images(tmp_path), {f"{name}.jpg": label for name, label in pairs.items()})
        (said,) = found.look_alikes()
        assert said.startswith("16 classes, 8 pairs differ only by case: 'Bird 0' and 'bird 0', 'Bird 1' and 'bird 1',")
        assert said.endswith(" and 5 more")

    def test_spaces_and_unicode_forms(self):
        assert look_alikes(["barn owl", "barn  owl", " barn owl", "hen"]) == {
            "spaces": [(" barn owl", "barn  owl"), (" barn owl", "barn owl")]
        }
        assert look_alikes(["caf\u00e9", "cafe\u0301"]) == {"Unicode form": [("cafe\u0301", "caf\u00e9")]}
        assert look_alikes(["Barn owl", "barn  owl"]) == {"case and spaces": [("Barn owl", "barn  owl")]}
        assert look_alikes(["owl", "owls", "hen"]) == {}

    def test_twins_among_file_names_are_shown_so_that_they_differ(self, tmp_path):
        for name in ("caf\u00e9.jpg", "cafe\u0301.jpg", "IMG.jpg", "img.jpg"):
            (tmp_path / name).write_bytes(b"x")
        found = from_labels(find_images(tmp_path), {"IMG.jpg": "a"})
        assert found.look_alikes() == [
            "4 images, 1 pair differs only by Unicode form: 'cafe\\u0301.jpg' and 'caf\u00e9.jpg'"
        ]
