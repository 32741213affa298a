"""The benchmark of what deleted ledgers leave measures each storage; no test looks at how soon it is gone."""

import json
import subprocess
import sys

import pytest

from tests.benchmarks.collected_adds import STORAGES


@pytest.mark.full
def test_the_disk_of_each_storage_is_measured():
    command = [sys.executable, "-m", "tests.benchmarks.deleted_disk", "--mib", "16", "--seconds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    measured = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["storage"] for each in measured] == list(STORAGES)
    for each in measured:
        assert each["written_mib"] == 16
        assert each["before_mib"] >= 16
        assert each["journals_before_mib"] >= 16
