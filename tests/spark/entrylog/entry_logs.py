"""What a scan finds in an entry log."""

from bookkeeper_tx.entry.entry_log_scan import Problem
from bookkeeper_tx.spark.entrylog.scan import Records, scan
from tests.entry.entry_logs import Row, reader


def scanned(data: bytes, first: int = 0, end: int | None = None) -> tuple[list[Row], list[Problem]]:
    """Return the records and the problems that a scan finds."""
    rows: list[Row] = []
    problems: list[Problem] = []
    for found in scan(reader(data), len(data), first, end):
        if isinstance(found, Problem):
            problems.append(found)
        else:
            rows += pairs(found)
    return rows, problems


def pairs(records: Records) -> list[Row]:
    return list(zip(records.starts.tolist(), records.sizes.tolist(), strict=True))
