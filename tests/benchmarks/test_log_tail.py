"""The benchmark of followers measures each number of replicas; no test looks at the speed."""

import json
import subprocess
import sys

from tests.benchmarks.log_tail import REPLICAS


def test_each_number_of_replicas_is_measured():
    command = [sys.executable, "-m", "tests.benchmarks.log_tail", "--records", "20", "--pause-ms", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    measured = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["replicas"] for each in measured] == list(REPLICAS)
    for each in measured:
        assert 0 < each["seen_p50_ms"] <= each["seen_p99_ms"]
        assert each["written_p50_ms"] > 0
