"""Rows of a table about the cluster as Arrow batches of bounded size."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

ROW_SIZE = 256
"""About how many bytes a row has besides its own ``size``."""

BATCH_SIZE = 8 * 1024 * 1024


class Row(NamedTuple):
    """A row: a column that is not in ``values`` is null."""

    values: Mapping[str, Any]
    size: int = 0
    """About how many bytes its values of variable size have."""


def batches_of(
    rows: Iterable[Row], columns: pa.Schema, names: Sequence[str], rows_max: int, size_max: int = BATCH_SIZE
) -> Iterator[pa.RecordBatch]:
    """Give the columns ``names`` of the rows, in batches of at most so many rows and about so many bytes."""
    held: list[Mapping[str, Any]] = []
    size = 0
    for row in rows:
        if held and (len(held) >= rows_max or size + row.size + ROW_SIZE > size_max):
            yield _batch(held, columns, names)
            held, size = [], 0
        held.append(row.values)
        size += row.size + ROW_SIZE
    if held:
        yield _batch(held, columns, names)


def _batch(rows: list[Mapping[str, Any]], columns: pa.Schema, names: Sequence[str]) -> pa.RecordBatch:
    arrays = [pa.array([row.get(name) for row in rows], columns.field(name).type) for name in names]
    return pa.RecordBatch.from_arrays(arrays, list(names))
