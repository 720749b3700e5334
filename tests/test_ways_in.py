"""Other ways in: containers, workflows, citation and issue forms say what is so."""

import re
import shlex
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from legogcd.version import __version__

ROOT = Path(__file__).parents[1]
DOCKERFILES = ["Dockerfile", "docker/cuda.Dockerfile"]


def instructions(path: Path) -> list[tuple[str, str]]:
    """A Dockerfile's instructions with their continued lines joined."""
    text = re.sub(r"^#.*\n", "", path.read_text("utf-8"), flags=re.M)
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]
    return [(line.split()[0], " ".join(line.split()[1:])) for line in lines]


@pytest.mark.parametrize("name", DOCKERFILES)
def test_a_dockerfile_is_as_hadolint_wants_it(name: str) -> None:
    found = instructions(ROOT / name)
    by_name = {kind: [rest for other, rest in found if other == kind] for kind, _ in found}
    assert set(by_name) <= {"FROM", "ARG", "ENV", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "ENTRYPOINT", "CMD"}
    assert found[0][0] == "FROM"
    assert all(re.search(r":[\w.-]+$", image) and not image.endswith(":latest") for image in by_name["FROM"])
    assert all(folder.startswith("/") for folder in by_name["WORKDIR"])
    assert all(rest.startswith("[") for kind in ("ENTRYPOINT", "CMD", "VOLUME") for rest in by_name[kind])
    assert by_name["USER"][-1].isdecimal(), "a host may not know a name"
    assert by_name["USER"][-1] != "0"
    assert "PIP_NO_CACHE_DIR=1" in by_name["ENV"][0]
    for command in by_name["RUN"]:
        assert not {"sudo", "cd", "apt-get", "wget", "curl"} & set(shlex.split(command)), command
        assert not re.search(r"pip install .*\"\.", command), "hadolint takes . for a package without a version"


@pytest.mark.parametrize("name", DOCKERFILES)
def test_what_a_dockerfile_copies_is_there_and_not_ignored(name: str) -> None:
    ignored = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line]
    for kind, rest in instructions(ROOT / name):
        for source in rest.split()[:-1] if kind == "COPY" else []:
            assert (ROOT / source).exists()
            ruling = [rule for rule in ignored if fnmatch(source, rule.removeprefix("!"))]
            assert ruling[-1].startswith("!"), source
    package = re.search(r"readme = \"(.*)\"", (ROOT / "pyproject.toml").read_text())
    assert package
    assert package[1] in (ROOT / name).read_text(), "the build needs it"


def workflows() -> dict[str, dict]:
    return {path.name: yaml.safe_load(path.read_text("utf-8")) for path in (ROOT / ".github/workflows").glob("*.yml")}


def test_workflows_are_sound_and_have_the_rights_they_need() -> None:
    assert set(workflows()) == {"tests.yml", "publish.yml"}
    for name, workflow in workflows().items():
        assert workflow["permissions"] == {"contents": "read"}, name
        for job in workflow["jobs"].values():
            assert job["timeout-minutes"] <= 60
            for step in job["steps"]:
                assert ("run" in step) != ("uses" in step)
                assert "uses" not in step or re.search(r"@(v\d|release/v\d)", step["uses"])
    assert {"run": ".ci/run"} in workflows()["tests.yml"]["jobs"]["gate"]["steps"]
    linted = workflows()["tests.yml"]["jobs"]["docker"]["strategy"]["matrix"]["file"]
    assert linted == DOCKERFILES


def test_publishing_is_trusted_and_needs_no_secret() -> None:
    text = (ROOT / ".github/workflows/publish.yml").read_text("utf-8")
    jobs = workflows()["publish.yml"]["jobs"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "permissions" not in jobs["build"]
    assert jobs["publish"]["environment"] == "pypi"
    assert not re.search(r"secrets\.|password|token:(?! write)", text)


def test_the_citation_names_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert (citation["cff-version"], citation["version"], citation["license"]) == ("1.2.0", __version__, "Apache-2.0")
    assert all(author.keys() & {"name", "family-names"} for author in citation["authors"])
    assert {reference["year"] for reference in citation["references"]} == {2023, 2024}


def test_issue_forms_ask_for_what_helps() -> None:
    forms = {
        path.stem: yaml.safe_load(path.read_text("utf-8")) for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")
    }
    assert "legogcd doctor" in str(forms["something-is-wrong"])
    for name, form in forms.items():
        assert name == "config" or all(part["attributes"]["label"] for part in form["body"])
