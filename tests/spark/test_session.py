"""The formats, as they are registered and as Spark finds them."""

import os
import sys
from typing import Any

import pytest

pytest.importorskip("pyspark")

from bookkeeper_tx.spark.session import register_all, use_this_interpreter
from bookkeeper_tx.spark.tables import TABLES, BookKeeperSource


class _Registered:
    """The part of a session that registering needs."""

    def __init__(self) -> None:
        self.found: list[Any] = []

    @property
    def dataSource(self) -> "_Registered":
        return self

    def register(self, source: Any) -> None:
        self.found.append(source)


def test_all_formats_are_registered_under_their_names() -> None:
    session = _Registered()
    register_all(session)
    assert session.found[0] is BookKeeperSource
    names = ["bookkeeper", *(f"bookkeeper-{each}" for each in TABLES)]
    assert [source.name() for source in session.found] == names


def test_the_workers_run_this_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.setenv(name, "another")
    use_this_interpreter()
    assert os.environ["PYSPARK_PYTHON"] == os.environ["PYSPARK_DRIVER_PYTHON"] == sys.executable
