"""The formats, as they are registered and as Spark finds them."""

import os
import sys
from importlib import import_module
from typing import Any

import pytest

pytest.importorskip("pyspark")

from bookkeeper_tx.spark.session import SOURCES, register_all, use_this_interpreter


class _Registered:
    """As much of a session as registering needs."""

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
    assert {source.name() for source in session.found} == set(SOURCES)


@pytest.mark.parametrize("name", SOURCES)
def test_spark_finds_a_module_for_each(name: str) -> None:
    module = import_module("pyspark_" + name.replace("-", "_"))
    assert module.DefaultSource.name() == name


def test_the_workers_run_this_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.setenv(name, "another")
    use_this_interpreter()
    assert os.environ["PYSPARK_PYTHON"] == os.environ["PYSPARK_DRIVER_PYTHON"] == sys.executable
