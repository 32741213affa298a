"""Code that runs in executors loads neither Twisted nor modules that only the driver needs."""

import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest

import bookkeeper_tx.blocking
import bookkeeper_tx.spark.bookies
import bookkeeper_tx.spark.reading
import bookkeeper_tx.spark.writing

NOT_LOADED = {"twisted", "zope", "OpenSSL", "rich", "pyspark"}
ROOMS = [
    bookkeeper_tx.blocking,
    bookkeeper_tx.spark.bookies,
    bookkeeper_tx.spark.reading,
    bookkeeper_tx.spark.writing,
]


def modules_of(room: ModuleType) -> list[str]:
    return [f"{room.__name__}.{module.name}" for module in pkgutil.iter_modules(room.__path__)]


@pytest.mark.parametrize(
    "modules",
    [*map(modules_of, ROOMS), ["bookkeeper_tx.spark.entries.arrow_entries"]],
    ids=[*(room.__name__ for room in ROOMS), "arrow_entries"],
)
def test_loads_no_twisted(modules):
    assert modules
    program = (
        "import sys, importlib\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
        f"print(sorted({{name.partition('.')[0] for name in sys.modules}} & {NOT_LOADED!r}))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
