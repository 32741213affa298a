"""The content of many rows in a few numbers: equal contents have equal numbers, in any order."""

from typing import Any

from attrs import frozen


@frozen
class Content:
    """The payloads of some rows."""

    entries: int
    bytes: int
    checksum: str
    """Sum of Spark's ``xxhash64`` over them: a row that occurs twice counts twice."""

    @classmethod
    def of(cls, row: Any) -> "Content":
        """Return the content from a row with :func:`content_columns`."""
        return cls(row.entries, row.bytes or 0, str(row.checksum or 0))


def content_columns(*hashed: str) -> list[Any]:
    """Return the aggregates ``entries``, ``bytes`` (of ``payload``) and ``checksum`` (of the columns ``hashed``)."""
    from pyspark.sql import functions as F

    return [
        F.count(F.lit(1)).alias("entries"),
        F.sum(F.octet_length("payload")).alias("bytes"),
        F.sum(F.xxhash64(*hashed).cast("decimal(20,0)")).alias("checksum"),
    ]


def content_of(frame: Any) -> Content:
    """Return the content of all payloads of ``frame``."""
    return Content.of(frame.agg(*content_columns("payload")).collect()[0])
