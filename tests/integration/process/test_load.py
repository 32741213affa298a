"""All shapes of load at once on one bookie of ours: many ledgers, bulk, reads beside writes, fences, a slow client.

What was acknowledged is there after SIGKILL, the bookie stays within the memory of its budgets, the clients within
theirs, and a canary entry can be read all the time.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bookkeeper_tx.cli.bench.process_cpu import usage
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.support import load_program
from tests.integration.support.load_payloads import payload
from tests.integration.support.our_client import OurClient, wait_for

MEMORY_BYTES_MAX = 600 * 1024 * 1024
CLIENT_BYTES_MAX = 256 * 1024 * 1024
"""Each second brings 20 MB and more of entries to it: what stayed of them would soon be too much."""

READ_COUNT = 10_000
"""Ten minutes of load make ledgers that take longer to read than one call may."""


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("seconds", [5, pytest.param(600, marks=pytest.mark.full)])
def test_a_bookie_serves_everything_at_once(tmp_path: Path, seconds: int) -> None:
    with LocalCluster(tmp_path, bookie_count=1) as cluster:
        [bookie] = cluster.bookies
        arguments = [cluster.metadata_uri, str(bookie.port), str(seconds)]
        program = subprocess.run(
            [sys.executable, load_program.__file__, *arguments],
            check=False,
            capture_output=True,
            text=True,
            timeout=seconds + 300,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        assert program.returncode == 0, program.stdout + program.stderr
        result = json.loads(program.stdout)
        print(f"canary: {result['canary_reads']} reads, the longest {result['canary_longest_s']:.3f} s")
        assert result["canary_reads"] > 0
        assert result["memory_bytes"] < CLIENT_BYTES_MAX
        assert bookie.pid is not None
        used = usage(bookie.pid).resident_bytes_max
        print(f"the bookie's memory was {used >> 20} MiB at most")
        assert used < MEMORY_BYTES_MAX
        cluster.kill(0)
        cluster.restart(0)
        with OurClient(cluster.metadata_uri) as client:
            for name, count in result["acknowledged"].items():
                ledger_id = int(name)
                reader = client.open_ledger(ledger_id)
                assert reader.last_add_confirmed >= count - 1
                for first in range(0, count, READ_COUNT):
                    for entry in wait_for(reader.read, first, min(first + READ_COUNT, count) - 1):
                        assert entry.payload == payload(ledger_id, entry.entry_id)
