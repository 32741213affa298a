"""The figures of the memory of Spark's driver measure the right objects; no test looks at the sizes."""

from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from tests.benchmarks.spark_memory import measure


@pytest.mark.full
def test_every_figure_is_of_something(tmp_path: Path) -> None:
    figures = list(measure(ledgers=200, tasks=100, directory=tmp_path))
    assert len({(each.what, each.count) for each in figures}) == len(figures)
    assert all(each.size > 0 and each.count > 0 for each in figures)
    by_name = {each.what: each for each in figures}
    # One number, however many ledgers there are; and one for every gap.
    assert by_name["offset of a stream, all finished, ids in a row"].size < 100
    assert by_name["offset of a stream, all finished, every second id"].size > 200
    (planned,) = (each for each in figures if each.what.startswith("tasks of large ledgers"))
    assert planned.count == 100
