"""The project's own workflows: what they may do, how long, and on which Pythons."""

import re
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").iterdir())
CONTEXT = re.compile(r"\bmatrix\.([\w-]+)")


def read(path: Path) -> dict[Any, Any]:
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def ini(name: str) -> ConfigParser:
    parser = ConfigParser(interpolation=None)
    parser.read(ROOT / name, encoding="utf-8")
    return parser


def tox() -> ConfigParser:
    return ini("tox.ini")


def pythons() -> list[str]:
    """The releases that the package is for, as its classifiers have them."""
    return re.findall(r"Python :: (3\.\d+)", ini("setup.cfg")["metadata"]["classifiers"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_reads_only_and_every_job_ends(path: Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["group"].startswith(f"{path.stem}-")
    for job in workflow["jobs"].values():
        assert "permissions" not in job
        assert job["timeout-minutes"] <= 180
        (checkout,) = (step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@"))
        assert checkout["with"]["persist-credentials"] is False


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_job_uses_exactly_the_variables_of_its_matrix(path: Path) -> None:
    for job in read(path)["jobs"].values():
        assert set(CONTEXT.findall(repr(job))) == set(job["strategy"]["matrix"])


@pytest.mark.parametrize(("name", "event"), [("tests", "push"), ("tests", "pull_request"), ("full", "schedule")])
def test_both_runs_are_on_every_python_that_the_package_is_for(name: str, event: str) -> None:
    workflow = read(ROOT / ".github" / "workflows" / f"{name}.yml")
    assert event in workflow[True]  # YAML takes the word "on" for a flag
    job = workflow["jobs"]["tox"]
    assert job["strategy"]["matrix"]["python"] == pythons()
    (python,) = (step["with"] for step in job["steps"] if "setup-python" in step.get("uses", ""))
    assert python["python-version"] == "${{ matrix.python }}"


def test_tox_has_an_environment_for_each_of_these_pythons() -> None:
    environments = f"py3{{{','.join(each.removeprefix('3.') for each in pythons())}}}"
    # They name the commands of these two, so that another selection of tests there is one here as well.
    for name, like in ((environments, "tests"), (f"{environments}-full", "full")):
        assert tox()[f"testenv:{name}"]["commands"] == f"{{[testenv:{like}]commands}}"


def test_lint_looks_at_every_workflow() -> None:
    looked_at = set(re.findall(r"\.github/workflows/[\w.-]+", tox()["testenv:lint"]["commands"]))
    assert looked_at == {path.relative_to(ROOT).as_posix() for path in WORKFLOWS}
