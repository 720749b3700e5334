"""Messages that a terminal shows and nothing acts on."""

from hypothesis import given
from hypothesis import strategies as st

from legogcd.wording import left_out, library_error, printable, skipped_files, some_of


@given(st.text())
def test_nothing_that_a_terminal_acts_on_is_left(text):
    for shown in (printable(text), some_of([text], 1), left_out({text: "damaged"})):
        assert shown.isprintable()


@given(st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"])))
def test_usual_names_stay(text):
    assert printable(text) == text


def test_escapes_directions_and_bytes_are_made_visible():
    assert printable("\x1b]0;x\x07\u202egpj.exe\udce9\n") == r"\x1b]0;x\x07\u202egpj.exe\udce9\n"


def test_a_librarys_advice_to_switch_a_protection_off_is_not_passed_on():
    advice = (
        "Weights only load failed. " + "x " * 300 + "Re-running `torch.load` with `weights_only` set to `False` will"
    )
    assert library_error(RuntimeError(advice)) == "refused for safety (RuntimeError)"
    bomb = "Image size (300000000 pixels) exceeds limit of 178956970 pixels, could be decompression bomb DOS attack."
    assert library_error(ValueError(bomb)) == "refused for safety (ValueError)"
    assert library_error(ValueError("Decompressed data too large for PngImagePlugin.MAX_TEXT_CHUNK")) != ""
    assert library_error(ValueError("a\x1b[2J\n  b")) == r"a\x1b[2J b"
    assert library_error(ValueError("")) == "ValueError"
    long = library_error(ValueError("y" * 500))
    assert len(long) == 160
    assert long.endswith("y…")


def test_skipped_files_are_counted_by_reason_the_most_frequent_first():
    skipped = {f"{i}.txt": "not an image" for i in range(7)} | {f"{i}.jpg": "empty file" for i in range(3)}
    skipped |= {"a": "broken link", "b": "broken link", "c.png": "too large (300 megapixels, limit 256)"}
    assert skipped_files(skipped) == (
        "13 files left out: 7 not an image, 3 empty file, 2 broken link, 1 too large (all in skipped.csv)"
    )
    assert skipped_files({"a": "damaged"}, "run/skipped.csv") == "1 file left out: 1 damaged (all in run/skipped.csv)"
