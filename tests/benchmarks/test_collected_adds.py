"""The benchmark of adds beside collections measures each storage; no test looks at the speed."""

import json
import subprocess
import sys

import pytest

from tests.benchmarks.collected_adds import STORAGES

SECONDS = (15, 60)
"""So long it adds, and if nothing was compacted so long, beside other work, then so long."""


@pytest.mark.full
def test_each_storage_is_measured_while_it_collects_and_compacts():
    least = [0]
    for seconds in SECONDS:
        if min(least) <= 0:
            least = [min(each.values()) for each in measure(seconds)]
    assert min(least) > 0


def measure(seconds):
    command = [sys.executable, "-m", "tests.benchmarks.collected_adds", "--seconds", str(seconds), "--runs", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    measured = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each.pop("storage") for each in measured] == list(STORAGES)
    return measured
