"""What ``bookkeeper_tx.testing`` gives test suites beyond what its guide shows."""

import subprocess
import sys
from pathlib import Path

from bookkeeper_tx.blocking import BookKeeper
from bookkeeper_tx.testing.shared_cluster import shared_cluster
from tests.cli.bktx_process import environment

TIMEOUT_S = 240


def test_a_bookie_that_was_killed_serves_the_next_caller() -> None:
    cluster = shared_cluster(1)
    cluster.kill(0)
    assert shared_cluster(1) is cluster
    with BookKeeper(cluster.metadata_uri) as bk, bk.create_ledger(1, 1, 1) as writer:
        assert writer.append(b"payload") == 0


def test_a_project_says_how_many_bookies_and_which_settings(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text(
        "import pytest\n"
        "from bookkeeper_tx import ClientConfig\n"
        "pytest_plugins = ['bookkeeper_tx.testing.pytest_fixtures']\n"
        "@pytest.fixture(scope='session')\n"
        "def bookkeeper_bookie_count(): return 1\n"
        "@pytest.fixture(scope='session')\n"
        "def bookkeeper_config(): return ClientConfig(read_timeout_s=7.0)\n"
    )
    (tmp_path / "test_it.py").write_text(
        "def test_it(bookkeeper_client):\n"
        "    assert len(bookkeeper_client.writable_bookies()) == 1\n"
        "    assert bookkeeper_client.config.read_timeout_s == 7.0\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "no:asyncio", "-p", "no:anyio", "test_it.py"]
    ran = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=TIMEOUT_S)
    assert "1 passed" in ran.stdout, ran.stdout + ran.stderr
