"""Modules as one script, and the files a server gives out."""

import re
from pathlib import Path, PurePosixPath

import pytest

from legogcd.web import bundle, bundled_script, served_files


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(bundle, "files", lambda package: tmp_path)
    return tmp_path


def test_a_module_comes_once_and_after_what_it_imports(modules: Path) -> None:
    (modules / "parts").mkdir()
    (modules / "parts" / "low.js").write_text("export const name = 1;\nexport default function twice() {}\n")
    (modules / "parts" / "high.js").write_text('import { name as one } from "./low.js";\nexport class High {}\n')
    (modules / "page.js").write_text(
        'import twice from "./parts/low.js";\nimport { High } from "./parts/high.js";\nconst name = 2; // its own\n'
    )
    script = bundled_script("page.js")
    assert not re.search(r"^\s*(import|export)\b", script, re.MULTILINE)
    assert script.index("function twice") < script.index("class High") < script.index("const name = 2")
    assert script.count("function twice") == 1
    assert "const { name: one } = module0;" in script
    assert "const twice = module0.default;" in script


def test_modules_in_a_circle_are_named(modules: Path) -> None:
    (modules / "a.js").write_text('import { b } from "./b.js";\n')
    (modules / "b.js").write_text('import { a } from "./a.js";\n')
    with pytest.raises(ValueError, match=re.escape("a.js → b.js → a.js")):
        bundled_script("a.js")


def test_every_file_that_the_page_names_is_served() -> None:
    """Imports, styles and scripts of the page lead to files that are there."""
    found = served_files()
    for address, file in found.items():
        if not address.endswith((".js", ".html")):
            continue
        text = file.content.decode()
        links = re.findall(
            r"""^import .* from ["'](.+?)["'];$|import\("(.+?)"\)|(?:href|src)="(/.+?)\"""", text, re.MULTILINE
        )
        for link in (next(filter(None, groups)) for groups in links):
            parts: list[str] = [] if link.startswith("/") else list(PurePosixPath(address).parent.parts[1:])
            for part in PurePosixPath(link).parts:
                if part == "..":
                    parts.pop()
                elif part not in (".", "/"):
                    parts.append(part)
            assert "/" + "/".join(parts) in found, f"{address} names {link}"
    assert "/web/vendor/LICENSES.txt" in found
