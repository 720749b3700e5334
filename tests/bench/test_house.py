"""What the house is counted by, on a package small enough to count by hand."""

from pathlib import Path

import pytest

from bench.house import Example, House, Tracer, count_parameters, words

COPIED = "\n".join(f"    total += {number} * scale" for number in range(7))
DEEPER = COPIED.replace("    ", "        ")
FILES = {
    "plain.py": f'"""Says "coco"."""\n\n\ndef add(scale, *more, key=1):\n    total = 0\n{COPIED}\n    return total\n',
    "other.py": f"class Sum:\n    def of(self, scale):\n        # coco\n{DEEPER}\n        return self\n",
    "export/coco.py": "def write_coco(out):\n    return out\n\n\ndef _coco():\n    return 1\n",
    "export/formats.py": "from legogcd.export.coco import write_coco\n\nFORMATS = {'c': write_coco}\n",
    "cli.py": "NAMES = ['coco', 'coconut']\n",
    "unrelated.py": "COCONUTS = 'more coco'\n",
    "table.json": '{"formats": [{"coco": 1}]}',
    "page.jinja": "{{ coconut }}",
}


@pytest.fixture
def house(tmp_path: Path) -> House:
    for name, text in FILES.items():
        path = tmp_path / "legogcd" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return House(tmp_path)


def test_an_example_is_named_in_code_and_data_not_in_comments_or_longer_words(house: House) -> None:
    named = {"export/coco.py", "export/formats.py", "cli.py", "table.json"}
    assert set(house.files_naming(Example("export", "coco", "coco"))) == named


def test_an_option_is_named_by_its_flag_too() -> None:
    assert {"held_out", "--held-out"} <= words("held_out = given('--held-out')  # kept_dtype")
    assert "kept_dtype" not in words("x = 1  # kept_dtype")


def test_each_copy_of_a_run_is_counted_once_with_all_its_lines(house: House) -> None:
    assert house.duplicated_runs == [("other.py:4", 7), ("plain.py:6", 7)]


def test_parameters_without_self(house: House) -> None:
    counts = {where: count_parameters(node) for where, node in house.functions}
    assert (counts["plain.py:add"], counts["other.py:of"]) == (3, 1)


def test_what_was_entered_is_counted_from_the_command_to_the_file(tmp_path: Path) -> None:
    package = tmp_path / "legogcd"
    (package / "cli").mkdir(parents=True)
    source = package / "cli" / "discover.py"
    source.write_text(
        "def before(): pass\n"
        "def each(): pass\n"
        "def after(): pass\n"
        "def discover(n, out):\n"
        "    for _ in range(n): each()\n"
        "    out.with_suffix('.part').write_text('')\n"
        "    out.with_suffix('.part').rename(out)\n"
        "    after()\n"
    )
    names: dict = {}
    exec(compile(source.read_text(), str(source), "exec"), names)  # noqa: S102 - the lines above
    tracer = Tracer(package)
    tracer.start()
    names["before"]()
    names["discover"](3, tmp_path / "predictions.csv")
    tracer.stop()
    assert tracer.reached["predictions.csv"] == {"cli/discover.py:discover": 1, "cli/discover.py:each": 3}
