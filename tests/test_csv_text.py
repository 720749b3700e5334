"""Any text and any file name comes back from a CSV as it was, also by other readers; what is wrong is said by line."""

import csv
import os
import sys

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from legogcd.csv_text import csv_line, escape_name, read_rows, spreadsheet_text, unescape_name, write_rows
from legogcd.errors import UserError

file_names = (
    st.binary(min_size=1, max_size=12).filter(lambda raw: b"\0" not in raw and b"/" not in raw).map(os.fsdecode)
)
awkward = st.text(st.sampled_from('\r\n",%;\t \x1b\u2028é=\udce9\udcff'), max_size=8)
names = st.one_of(file_names, awkward.filter(lambda text: os.fsdecode(os.fsencode(text)) == text))
readable = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


@given(st.lists(st.tuples(names, names), max_size=5))
@example([("a\rb", ""), ("", ""), ("%bytes:", "%bytes:%41"), ("\ufeff", "NA"), ("\r", "\n")])
@settings(max_examples=200, deadline=None)
def test_what_is_written_is_read(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    write_rows(path, ("path", "label"), rows)
    assert [tuple(row.cells) for row in read_rows(path, ("path", "label"))] == rows


@given(st.lists(st.tuples(names, readable), max_size=5))
@example([("a\rb,c", '"'), ("\r", "\r\n"), ("caf\udce9", " x ")])
@settings(max_examples=100, deadline=None)
def test_other_readers_find_the_same_cells(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    write_rows(path, ("path", "label"), rows)
    expected = [["path", "label"], *([escape_name(path), escape_name(label)] for path, label in rows)]
    with open(path, encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == expected
    table = pd.read_csv(path, dtype=str, na_filter=False, header=None, skip_blank_lines=False)
    assert table.to_numpy().tolist() == expected


@given(names)
def test_names_are_escaped_only_where_they_must_be(name):
    written = escape_name(name)
    written.encode("utf-8")
    assert unescape_name(written) == name
    if max(name, default="") < "\udc80" and not name.startswith("%bytes:"):
        assert written == name


@given(
    st.lists(readable.filter(lambda text: "\r" not in text and not text.startswith("%bytes:")), min_size=1, max_size=4)
)
def test_usual_rows_are_what_the_standard_library_writes(cells):
    class Written(list):
        write = list.append

    written = Written()
    csv.writer(written, lineterminator="\n").writerow(cells)
    assert csv_line(cells) == written[0]


def test_names_of_the_file_system_come_back(tmp_path):
    raw = [b"caf\xe9.jpg", b"a\rb.jpg", b"a\nb.jpg", b'q",x.jpg', b"\x1b[2J.jpg", b"%bytes:%41.jpg", "é.jpg".encode()]
    if sys.platform == "darwin":
        raw = raw[1:]
    for name in raw:
        (tmp_path / os.fsdecode(name)).touch()
    found = sorted(path.name for path in tmp_path.iterdir())
    assert [os.fsencode(name) for name in found] == [os.fsencode(name) for name in sorted(map(os.fsdecode, raw))]
    write_rows(tmp_path / "table.csv", ["path"], [[name] for name in found])
    assert [row.cells for row in read_rows(tmp_path / "table.csv", ["path"])] == [[name] for name in found]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "begins with ''; expected the header 'a,b'"),
        (b"b,a\n", "begins with 'b,a'"),
        (b"a,b\n1,2\n3\n", "line 3 has 1 cells"),
        (b"a,b\n1,2\n3,\xff\n", "line 3 is not UTF-8"),
        (b'a,b\n1,2\n"3,4\n', "line 3 is not valid CSV"),
        (b'a,b\n1,"2"3\n', "line 2 is not valid CSV"),
        (b"a,b\n1," + b"x" * 200_000, "line 2 is not valid CSV"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, content, words):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(UserError, match=words) as error:
        list(read_rows(path, ("a", "b")))
    assert "\n" not in str(error.value)


def test_lines_are_counted_as_an_editor_does(tmp_path):
    write_rows(tmp_path / "t.csv", ["a"], [["x\ny"], ["z"]])
    assert [row.line for row in read_rows(tmp_path / "t.csv", ["a"])] == [3, 4]


@pytest.mark.parametrize("formula", ["=1", "+1", "-1", "@x", "\t=1", "\r=1"])
def test_a_spreadsheet_runs_nothing(formula):
    assert spreadsheet_text(formula) == "'" + formula
    assert spreadsheet_text("a=1") == "a=1"
