"""Code that runs in executors loads neither Twisted nor modules that only the driver needs."""

import pkgutil
import subprocess
import sys

import pytest

import bookkeeper_tx.blocking

NOT_LOADED = {"twisted", "zope", "OpenSSL", "rich", "pyspark"}

MODULES = [f"bookkeeper_tx.blocking.{module.name}" for module in pkgutil.iter_modules(bookkeeper_tx.blocking.__path__)]


@pytest.mark.parametrize(
    "modules", [MODULES, ["bookkeeper_tx.spark.entries.arrow_entries"]], ids=["blocking", "arrow_entries"]
)
def test_loads_no_twisted(modules):
    program = (
        "import sys, importlib\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
        f"print(sorted({{name.partition('.')[0] for name in sys.modules}} & {NOT_LOADED!r}))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
