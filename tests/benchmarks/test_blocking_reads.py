"""The benchmark of blocking reads measures every workload; no test looks at the speed."""

import json
import subprocess
import sys

from tests.benchmarks.blocking_reads import SIZES


def test_every_kind_of_ledger_is_read_by_batch_and_one_by_one():
    command = [sys.executable, "-m", "tests.benchmarks.blocking_reads", "--entries", "3000", "--runs", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    measured = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(each["sizes"], each["batch"]) for each in measured] == [
        (sizes, batch) for sizes in SIZES for batch in (True, False)
    ]
    for each in measured:
        assert each["entries"] == 3000
        assert each["cpu_us_per_entry"] > 0
        assert each["wall_us_per_entry"] > 0
