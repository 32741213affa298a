"""The programs of the guide about tests, each run by the tool that it is for."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.bktx_process import environment
from tests.sampling import only

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "testing.md"
TIMEOUT_S = 240

PYTEST = ("-m", "pytest", "-p", "no:cacheprovider", "-W", "error::ResourceWarning", "-p", "no:xdist")
COMMANDS = {
    "test_orders.py": (*PYTEST, "-p", "no:asyncio", "-p", "no:anyio"),
    "test_with_pytest_asyncio.py": (*PYTEST, "-p", "no:anyio"),
    "test_with_anyio.py": (*PYTEST, "-p", "no:asyncio"),
    "test_on_trial.py": ("-m", "twisted.trial"),
    "test_on_unittest.py": ("-W", "error", "-m", "unittest"),
    "test_anything.py": (),
}
"""File → the command that runs it; those of pytest have the ``conftest.py`` of the page."""

PASSED = {
    "test_orders.py": "3 passed",
    "test_with_pytest_asyncio.py": "1 passed",
    "test_with_anyio.py": "1 passed",
    "test_on_trial.py": "PASSED (successes=1)",
    "test_on_unittest.py": "Ran 1 test",
    "test_anything.py": "",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the page."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "pytest.ini").write_text("[pytest]\n")
    for name, text in re.findall(r"^```python\n# (\S+\.py)\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL):
        (folder / name).write_text(text)
    return folder


def test_every_file_of_the_page_is_run(folder: Path) -> None:
    assert {each.name for each in folder.glob("test_*.py")} == COMMANDS.keys()
    assert GUIDE.read_text().count("```python") == len(COMMANDS) + 1
    assert f"python {' '.join(COMMANDS['test_on_trial.py'])} test_on_trial\n" in GUIDE.read_text()


@pytest.mark.parametrize("name", only("test_orders.py", COMMANDS))
def test_a_file_of_the_page(folder: Path, name: str) -> None:
    target = name.removesuffix(".py") if name in ("test_on_trial.py", "test_on_unittest.py") else name
    command = [sys.executable, *COMMANDS[name], target]
    ran = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=TIMEOUT_S)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert PASSED[name] in ran.stdout + ran.stderr
