"""For the continuous integration of other projects: the action, the workflow of the guide, the container."""

import os
import re
import subprocess
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent.parent
FOLDER = ROOT / ".github" / "actions" / "conformance"
GUIDE = ROOT / "docs" / "conformance" / "ten-minutes.md"
CONTAINER = ROOT / "compat_tests" / "container" / "Containerfile"


def action() -> Any:
    return yaml.safe_load((FOLDER / "action.yml").read_text(encoding="utf-8"))


def fenced(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.M | re.S)


def test_the_action_is_a_composite_one() -> None:
    found = action()
    assert set(found) == {"name", "description", "branding", "inputs", "outputs", "runs"}
    assert found["runs"]["using"] == "composite"
    for step in found["runs"]["steps"]:
        assert ("uses" in step) != ("run" in step)
        assert "shell" in step or "uses" in step
        assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step.get("uses", "x/y@v1"))
    for each in found["inputs"].values():
        assert set(each) == {"description", "default"}
        assert isinstance(each["default"], str)


def test_every_input_is_used_and_none_that_is_not_there() -> None:
    text = (FOLDER / "action.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(action()["inputs"])


def test_nothing_that_somebody_wrote_is_put_into_a_script() -> None:
    for step in action()["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


def test_the_workflow_of_the_guide_uses_what_the_action_has() -> None:
    (text,) = fenced("yaml")
    workflow = yaml.safe_load(text)
    assert workflow[True] == ["push", "pull_request"]  # YAML takes the word "on" for a flag
    roles = set()
    for job in workflow["jobs"].values():
        steps = [step for step in job["steps"] if "conformance" in step.get("uses", "")]
        assert len(steps) == 1
        assert "/.github/actions/conformance@" in steps[0]["uses"]
        assert set(steps[0]["with"]) <= set(action()["inputs"])
        roles.add(steps[0]["with"]["role"])
    assert roles == {"bookie", "client"}


def run_action(tmp_path: Path, exit_code: int = 0, **inputs: str) -> tuple[list[str], str, int]:
    """Run the script of the action with a suite that only says how it was called."""
    command = tmp_path / "conformance" / "bin" / "bookkeeper-conformance"
    command.parent.mkdir(parents=True)
    command.write_text(f'#!/bin/sh\nfor word; do echo "$word" >> "{tmp_path}/words"; done\nexit {exit_code}\n')
    command.chmod(0o755)
    names = dict.fromkeys(("ADDRESS", "TARGET", "DRIVER", "ARGUMENTS"), "")
    reports, output = tmp_path / "reports", tmp_path / "output"
    given = {"ROLE": "bookie", "REPORTS": str(reports), "RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(output)}
    environment = {"PATH": os.environ["PATH"], "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"), **names, **given}
    ended = subprocess.run(["bash", str(FOLDER / "judge.sh")], env={**environment, **inputs}, timeout=30, check=False)
    return (tmp_path / "words").read_text().splitlines(), output.read_text(), ended.returncode


def test_a_bookie_is_judged_and_the_outcome_kept(tmp_path: Path) -> None:
    words, output, code = run_action(tmp_path, 1, ADDRESS="127.0.0.1:3181", ARGUMENTS="--only 'BKW-READ-*' --strict")
    assert words[:6] == ["bookie", "--address", "127.0.0.1:3181", "--only", "BKW-READ-*", "--strict"]
    assert words[words.index("--markdown") + 1] == str(tmp_path / "summary")
    assert {"--json", "--html", "--junit", "--badge", "--pcap"} <= set(words)
    assert (output, code) == ("exit-code=1\n", 1)


def test_a_client_is_judged_by_its_driver(tmp_path: Path) -> None:
    words, _, code = run_action(tmp_path, ROLE="client", DRIVER="node 'my driver.js' -v")
    assert words[0] == "client"
    assert words[-4:] == ["--", "node", "my driver.js", "-v"]
    assert code == 0


def test_the_options_that_the_action_gives_are_there() -> None:
    from compat_tests.cli.bookie import bookie
    from compat_tests.cli.client import client

    script = (FOLDER / "judge.sh").read_text(encoding="utf-8")
    given = set(re.findall(r"--[a-z]+\b", script)) | {"--json", "--html", "--pcap", "--badge"}
    for command, missing in ((bookie, set()), (client, {"--address"})):
        assert given - {option for each in command.params for option in each.opts} == missing


def test_the_container_runs_the_suite_and_not_as_root() -> None:
    lines = CONTAINER.read_text(encoding="utf-8").splitlines()
    instructions = {line.split()[0] for line in lines if line and not line.startswith(("#", " "))}
    assert instructions <= {"ARG", "FROM", "COPY", "RUN", "ENV", "USER", "WORKDIR", "ENTRYPOINT", "CMD"}
    assert 'ENTRYPOINT ["bookkeeper-conformance"]' in lines
    assert "USER conformance" in lines
    setup = ConfigParser(interpolation=None)
    setup.read(ROOT / "setup.cfg")
    assert "bookkeeper-conformance = " in setup["options.entry_points"]["console_scripts"]
    assert "conformance" in setup["options.extras_require"]


def test_the_driver_of_the_guide_answers(tmp_path: Path) -> None:
    script = next(text for text in fenced("sh") if "Unsupported" in text)
    requests = "1\tconnect\tclient=a\turi=x\n2\tcreate\tclient=a\n"
    ended = subprocess.run(["sh", "-c", script], input=requests, capture_output=True, text=True, timeout=30, check=True)
    assert ended.stdout.splitlines()[0] == "1\tok"
    assert ended.stdout.splitlines()[1].startswith("2\terror\tcode=-\tname=Unsupported\t")


@pytest.mark.parametrize("language", ["sh", "js", "yaml"])
def test_the_guide_has_something_to_copy(language: str) -> None:
    assert fenced(language)
