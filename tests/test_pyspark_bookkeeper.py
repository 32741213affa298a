"""The package that Spark finds: every session on the machine imports it, whatever formats its user needs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

ROOT = Path(__file__).parents[1]

LOOK_UP = """
import json, pickle, sys
for name in ("numpy", "pyarrow", "pandas", "attrs", "twisted"):
    sys.modules[name] = None  # as if it were not installed
from pyspark.sql.worker import lookup_data_sources
before = set(sys.modules)
from importlib import import_module
from pyspark.sql.datasource import DataSource
source = import_module("pyspark_bookkeeper").DefaultSource
assert issubclass(source, DataSource)
assert pickle.loads(pickle.dumps(source)) is source
print(json.dumps([source.name(), sorted(set(sys.modules) - before)]))
"""
"""What Spark does to find formats (pyspark/sql/worker/lookup_data_sources.py)."""


def test_the_look_up_loads_next_to_nothing() -> None:
    found = subprocess.run([sys.executable, "-c", LOOK_UP], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    name, loaded = json.loads(found.stdout)
    assert name == "bookkeeper"
    assert loaded == [
        "bookkeeper_tx",
        "bookkeeper_tx.errors",
        "bookkeeper_tx.spark",
        "bookkeeper_tx.spark.tables",
        "protocol_specs",
        "protocol_specs.ledger_id",
        "protocol_specs.wire",
        "protocol_specs.wire.status",
        "pyspark_bookkeeper",
    ]
