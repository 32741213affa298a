"""The package as it is installed: from a wheel and as an editable, each into a fresh environment."""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NOT_SOURCE = shutil.ignore_patterns(".git", ".tox", ".venv", "build", "dist", "*.egg-info", "__pycache__", ".*_cache")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of the project, since a build writes files into it."""
    return Path(shutil.copytree(ROOT, tmp_path / "source", ignore=NOT_SOURCE))


def run(*command: str | Path, cwd: Path) -> str:
    # Found by PYTHONPATH, the repository would be taken for a package that is installed already.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    finished = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, timeout=800
    )
    assert finished.returncode == 0, f"{command}: {finished.stdout}{finished.stderr}"
    return finished.stdout


@pytest.mark.full
@pytest.mark.parametrize("editable", [False, True], ids=["wheel", "editable"])
def test_an_installed_package_has_its_commands_and_files(source: Path, tmp_path: Path, editable: bool) -> None:
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    bin_directory = environment / ("Scripts" if sys.platform == "win32" else "bin")
    python = bin_directory / "python"
    if editable:
        run(python, "-m", "pip", "install", "-q", "-e", source, cwd=tmp_path)
    else:
        run(python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path / "wheels", source, cwd=tmp_path)
        (wheel,) = (tmp_path / "wheels").glob("*.whl")
        run(python, "-m", "pip", "install", "-q", wheel, cwd=tmp_path)
    assert "bookie" in run(bin_directory / "twistd", "--help", cwd=tmp_path)
    assert "--metadata" in run(bin_directory / "twistd", "bookie", "--help", cwd=tmp_path)
    assert "demo" in run(bin_directory / "bktx", "--help", cwd=tmp_path)
    script = """
import importlib.resources as resources
from importlib.util import find_spec
assert find_spec("pyspark_bookkeeper")  # where Spark looks for formats
for package, name in [
    ("protocol_specs.wire", "v3.proto"),
    ("protocol_specs.vectors", "wire.json"),
    ("protocol_specs.kaitai", "bookkeeper_v2.ksy"),
    ("compat_tests.targets", "locks/ecj.lock"),
]:
    assert resources.files(package).joinpath(name).is_file(), name
"""
    run(python, "-c", script, cwd=tmp_path)
    checked = run(python, "-m", "protocol_specs", "check", cwd=tmp_path)
    assert editable or "not checked: this is no checkout" in checked
    assert "WRONG" not in checked
