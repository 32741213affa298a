"""The benchmark of appends to logs measures every shape; no test looks at the speed."""

import json
import subprocess
import sys

from attrs import asdict

from tests.benchmarks.log_appends import SHAPES


def test_every_shape_is_measured():
    command = [sys.executable, "-m", "tests.benchmarks.log_appends", "--entries", "200", "--runs", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    measured = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["shape"] for each in measured] == [asdict(shape) for shape in SHAPES]
    for each in measured:
        assert min(value for name, value in each.items() if name != "shape") > 0
