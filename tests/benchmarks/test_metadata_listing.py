"""The benchmark of lists lists what it has put into each kind of store; no test looks at the speed."""

import json
import subprocess
import sys

import pytest

from compat_tests.targets.etcd import etcd_program
from compat_tests.targets.jvm import find_jvm
from compat_tests.targets.zookeeper import zookeeper_jars


@pytest.mark.parametrize(
    "store",
    [
        "sqlite",
        pytest.param("zk+hierarchical", marks=pytest.mark.full),
        pytest.param("zk+longhierarchical", marks=pytest.mark.full),
        pytest.param("zk+flat", marks=pytest.mark.full),
        pytest.param("etcd", marks=pytest.mark.etcd),
    ],
)
def test_each_store_is_measured(store: str) -> None:
    # Not checked where there is none.
    if store == "etcd":
        etcd_program()
    elif store != "sqlite":
        zookeeper_jars()
        find_jvm()
    command = [sys.executable, "-m", "tests.benchmarks.metadata_listing"]
    command += ["--stores", store, "--ledgers", "2500", "--runs", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    (measured,) = map(json.loads, done.stdout.splitlines())
    assert (measured["store"], measured["ledgers"], len(measured["seconds_of_runs"])) == (store, 2500, 1)
    assert measured["per_second"] > 0
    assert measured["peak_mib"] > measured["listing_mib"] >= 0
