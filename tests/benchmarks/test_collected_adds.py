"""The benchmark of adds beside collections measures each storage; no test looks at the speed."""

import json
import subprocess
import sys

import pytest

from tests.benchmarks.collected_adds import STORAGES


@pytest.mark.full
def test_each_storage_is_measured_while_it_collects_and_compacts():
    command = [sys.executable, "-m", "tests.benchmarks.collected_adds", "--seconds", "15", "--runs", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    measured = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each.pop("storage") for each in measured] == list(STORAGES)
    for each in measured:
        assert min(each.values()) > 0
