"""The error of ``--remote`` if a package that a client of Spark Connect needs is missing."""

import subprocess
import sys
from pathlib import Path

import pytest

from bookkeeper_tx.spark.jobs.summary import ExitCode
from tests.cli.bktx_process import environment

pytest.importorskip("pyspark")

WITHOUT_GRPC = """
import sys
sys.modules["grpc"] = None
from bookkeeper_tx.cli.main import main
main()
"""


def test_what_is_to_be_installed_is_said(tmp_path: Path) -> None:
    """In a process of its own: Spark remembers in its environment that it was a client of Connect."""
    script = tmp_path / "bktx_without_grpc.py"  # a file, since PySpark takes ``python -c`` for one of its own tests
    script.write_text(WITHOUT_GRPC)
    arguments = ["spark", "--remote", "sc://127.0.0.1:1", "stats", "--metadata", "sqlite:///nowhere.db"]
    ended = subprocess.run(
        [sys.executable, script, *arguments], capture_output=True, text=True, timeout=120, env=environment()
    )
    assert ended.returncode == ExitCode.FAILED, ended.stderr
    said = ended.stderr.splitlines()[-1]
    assert said.startswith("error: ")
    assert said.endswith("pip install 'bookkeeper_tx[connect]' has all that --remote needs")
