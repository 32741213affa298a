"""The benchmark of metadata measures every store that it is asked for; no test looks at the speed."""

import json
import subprocess
import sys

import pytest

from compat_tests.targets.etcd import etcd_program


@pytest.mark.parametrize("store", ["sqlite", pytest.param("etcd", marks=pytest.mark.etcd)])
def test_each_run_is_measured(store: str) -> None:
    if store == "etcd":
        etcd_program()  # not checked where there is none
    command = [sys.executable, "-m", "tests.benchmarks.metadata_changes", "--stores", store]
    command += ["--ledgers", "12", "--at-once", "3", "--runs", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    (measured,) = map(json.loads, done.stdout.splitlines())
    assert (measured["store"], measured["at_once"], len(measured["ms_of_runs"])) == (store, 3, 2)
    assert min(measured["ms_of_runs"]) <= measured["ms_per_ledger"] <= max(measured["ms_of_runs"])
