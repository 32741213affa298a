"""The benchmark of writers that take a log measures each length; no test looks at the speed."""

import json
import subprocess
import sys


def test_each_length_is_measured():
    command = [sys.executable, "-m", "tests.benchmarks.log_takeover", "--ledgers", "1", "--ledgers", "4", "--runs", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    measured = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["ledgers"] for each in measured] == [1, 4]
    assert all(min(each.values()) > 0 for each in measured)
