"""The Spark room keeps to the public DataFrame API, and takes nothing to the driver that grows with the entries."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import bookkeeper_tx.spark

ROOM = Path(bookkeeper_tx.spark.__file__).parent
FILES = sorted(ROOM.rglob("*.py"))

PRIVATE = {"sparkContext", "rdd", "_jvm", "_jdf", "_jsc", "_sc", "_jsparkSession", "_jreader", "_jwrite", "_gateway"}
"""Attributes that a session or DataFrame of Spark Connect does not have."""

EXCEPTIONS = {"running_tasks.py": {"sparkContext"}}
"""Where there is another way for a session of Spark Connect."""

ALL_ROWS = {"collect", "toPandas", "toArrow", "toLocalIterator", "tail", "head", "take"}
"""Methods that bring rows to the driver."""

GROWS_WITH = {
    "pinned_ledgers._look": "ledgers",
    "pinned_ledgers._ends_of_open": "open ledgers",
    "sink_ledgers.entries_of": "ledgers of a write",
    "copy_ledgers.published_names": "ledgers copied",
    "scrub_replicas._ranges": "parts of ledgers that are damaged",
    "cluster_stats._table": "classes of ledgers, of which there are a few",
    "conformance_runs.summarise": "implementations that were judged",
    "entry_logs.summarise": "conditions of entries, of which there are a few",
    "scrub_replicas.summarise": "kinds of findings, of which there are a few",
}
"""The functions of jobs whose rows on the driver are not a fixed number, with the things that these rows count.

docs/guides/spark-scale.md has the memory that they take.
"""


def names_of(path: Path) -> set[str]:
    """Return the imports of a file and the attributes that it uses."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            found.update(f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Import):
            found.update(each.name for each in node.names)
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOM)))
def test_nothing_but_the_public_api_is_used(path: Path) -> None:
    names = names_of(path)
    assert names & PRIVATE == EXCEPTIONS.get(path.name, set())
    imported = {name for name in names if name.startswith("pyspark.")}
    allowed = ("pyspark.sql.", "pyspark.TaskContext")
    assert {name for name in imported if not name.startswith(allowed)} == set()
    assert not {name for name in imported if name.endswith(("SparkContext", "RDD"))}


def methods_of(call: ast.expr) -> Iterator[str]:
    """Yield the methods of a chain of calls, the last one first."""
    while isinstance(call, ast.Call | ast.Attribute | ast.Subscript):
        if isinstance(call, ast.Attribute):
            yield call.attr
        call = call.func if isinstance(call, ast.Call) else call.value


def is_bounded(methods: list[str]) -> bool:
    """Whether a chain of calls gives a fixed number of rows: one of a whole table, or as many as its limit says."""
    before = methods[1:]
    return methods[0] == "take" or "limit" in before or ("agg" in before and "groupBy" not in before)


def collected_by(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each function that brings rows to the driver, with the chain of calls that does."""
    for function in ast.walk(ast.parse(path.read_text())):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ALL_ROWS:
                yield f"{path.stem}.{function.name}", list(methods_of(node))


def test_what_comes_to_the_driver_grows_with_ledgers_at_most() -> None:
    found = {name for path in FILES for name, methods in collected_by(path) if not is_bounded(methods)}
    assert found == set(GROWS_WITH)
