"""A book of results: kept whole, read kindly, averaged over seeds."""

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from legogcd.errors import UserError
from legogcd.evaluation.results import COLUMNS, Result, ResultBook, settings_text, spread

NAMES = st.text(min_size=1, max_size=12).filter(lambda text: bool(text.split()))
SCORES = st.none() | st.floats(0, 1)
RESULTS = st.builds(
    Result,
    dataset=NAMES,
    method=NAMES | st.sampled_from(["simgcd+ler", 'a,"b"', "=1+1", " x\ty\r\n"]),
    seed=st.integers(0, 2),
    setup=st.text(max_size=12),
    settings=st.sampled_from(["", "beta=1 threshold=0.85"]),
    images=st.integers(0, 10**7),
    epochs=st.integers(0, 300),
    all=SCORES,
    old=SCORES,
    new=SCORES,
    nmi=SCORES,
    ari=st.none() | st.floats(-1, 1),
    forgetting=SCORES,
    test_all=SCORES,
    test_old=SCORES,
    test_new=SCORES,
    seconds=st.none() | st.floats(0, 1e7),
    peak_memory=st.none() | st.integers(0, 2**45),
    version=st.text(max_size=5),
)


def result(**fields: Any) -> Result:
    return Result(**{"dataset": "cub", "method": "simgcd", "seed": 0, "images": 100, "epochs": 200, **fields})


@settings(max_examples=25, deadline=None)
@given(added=st.lists(RESULTS, max_size=4))
def test_every_result_comes_back_as_it_was_and_the_book_is_one_file(
    added: list[Result], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("book") / "deep" / "results.csv"
    for one in added:
        ResultBook(path).add(one)
    expected = {one.key: one for one in added}
    assert {row.key: row for row in ResultBook(path).rows} == expected
    if added:
        assert list(path.parent.iterdir()) == [path]


def test_the_file_is_a_plain_table_for_others(tmp_path: Path) -> None:
    book = ResultBook(tmp_path / "results.csv")
    book.add(result(all=0.5, method='odd, "name"'))
    book.add(result(seed=1, peak_memory=2**33))
    table = pd.read_csv(tmp_path / "results.csv")
    assert tuple(table.columns) == COLUMNS
    assert table["method"].tolist() == ['odd, "name"', "simgcd"]
    assert table["all"][0] == 0.5
    assert math.isnan(table["all"][1])


def test_a_run_made_again_takes_its_own_place_only(tmp_path: Path) -> None:
    book = ResultBook(tmp_path / "results.csv")
    others = [
        result(all=0.5, **different)
        for different in (
            {"dataset": "cifar10"},
            {"method": "legogcd"},
            {"seed": 1},
            {"setup": "quick"},
            {"settings": "beta=1"},
            {"epochs": 20},
        )
    ]
    for one in (result(all=0.1), *others, result(all=0.2, images=99)):
        book.add(one)
    assert book.rows == [result(all=0.2, images=99), *others]
    assert book.find(dataset="cub", method="simgcd", setup="", settings="", epochs=200) == [
        result(all=0.2, images=99),
        result(all=0.5, seed=1),
    ]


def test_rows_another_process_added_meanwhile_are_kept(tmp_path: Path) -> None:
    mine, other = ResultBook(tmp_path / "results.csv"), ResultBook(tmp_path / "results.csv")
    mine.add(result(seed=0))
    other.add(result(seed=1))
    assert [row.seed for row in other.rows] == [0, 1]
    assert ResultBook(tmp_path / "results.csv").rows == other.rows


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = ResultBook(tmp_path / "results.csv")
    book.add(result())
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        book.add(result(seed=1))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert book.rows == [result()]


def test_a_book_that_went_through_a_spreadsheet_is_still_read(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    lines = ["Method, seed,dataset,remark,images,epochs,all,old", "", "simgcd,0,cub,good,100,200,.5,nan", ",,,,,,,", ""]
    path.write_text("\r\n".join(lines), encoding="utf-8-sig", newline="")
    assert ResultBook(path).rows == [result(all=0.5)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dataset,method,seed,epochs\n", "line 1 has no column 'images'"),
        ("dataset,method,seed,images,epochs,all,all\n", "line 1 has the column 'all' twice"),
        ("dataset,method,seed,images,epochs\ncub,simgcd,0,1,1\ncub,simgcd,0,1\n", "line 3 has 4 cells, the header 5"),
        ("dataset,method,seed,images,epochs\ncub,simgcd,zero,1,1\n", "line 2, column 'seed': 'zero'; .*valid integer"),
        ("dataset,method,seed,images,epochs\ncub,,0,1,1\n", "line 2, column 'method': nothing; field required"),
        ("dataset,method,seed,images,epochs,old\ncub,a,0,1,1,86.9\n", "line 2, column 'old': '86.9'; .*less than"),
        ('dataset,method,seed,images,epochs\n"cub,a,0,1,1\n', "line 2 is not valid CSV"),
        ("dataset,method,seed,images,epochs\ncüb,a,0,1,1\n", "not UTF-8"),
        ("", "line 1 has no column 'dataset'"),
    ],
)
def test_a_broken_book_is_named_with_line_and_column_and_not_overwritten(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "results.csv"
    sound = ResultBook(path)
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UserError, match=rf"results\.csv' .*{message}"):
        ResultBook(path)
    with pytest.raises(UserError):
        sound.add(result())
    assert path.read_bytes() == text.encode("latin-1")


def test_a_place_that_cannot_be_written_is_the_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file")
    with pytest.raises(UserError, match=r"cannot (read|write)"):
        ResultBook(tmp_path / "results" / "results.csv").add(result())


def test_names_from_folders_become_one_printable_line() -> None:
    one = result(dataset="my\n  photos\x00", method="caf\udce9")
    assert (one.dataset, one.method) == (r"my photos\x00", r"caf\udce9")


def test_unknown_scores_are_none() -> None:
    assert result(old=math.nan, forgetting="nan").old is None
    assert result(old=math.nan, forgetting="nan").forgetting is None
    with pytest.raises(ValueError, match="less than or equal to 1"):
        result(old=61.9)


def test_settings_read_the_same_however_they_were_given() -> None:
    assert settings_text({}) == ""
    same = [{"beta": 1, "threshold": 0.85}, {"threshold": "0.850", "beta": "1.0"}]
    assert {settings_text(one) for one in same} == {"beta=1 threshold=0.85"}
    assert settings_text({"start": "kmeans", "weight_decay": 5e-5}) == "start=kmeans weight_decay=5e-05"


def test_mean_and_sample_deviation_over_seeds() -> None:
    values = [0.85, 0.869, 0.884]
    found = spread([*values, None])
    assert found is not None
    mean = sum(values) / 3
    assert found.mean == pytest.approx(mean)
    assert found.std == pytest.approx(math.sqrt(sum((value - mean) ** 2 for value in values) / 2))
    assert (found.n, str(found)) == (3, "86.8 ± 1.7")
    assert str(spread([0.5])) == "50.0"
    assert spread([None]) is None
