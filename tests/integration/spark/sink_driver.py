"""A Spark driver in a process of its own, which tests kill; it writes with :mod:`tests.integration.spark.sink_faults`.

``python -m tests.integration.spark.sink_driver`` reads JSON from standard input: ``master`` and ``settings`` of the
session, ``options`` of the sink, and either ``rows`` and ``partitions`` of a batch write or ``input`` and
``checkpoint`` of a stream of text files, one each epoch.
"""

import json
import sys
from typing import Any

from bookkeeper_tx.spark.session import local_session
from tests.integration.spark.queries import come_up
from tests.integration.spark.sink_faults import FORMAT, FaultySource


def rows(spark: Any, count: int, partitions: int) -> Any:
    """Return ``count`` payloads in order, in as many partitions."""
    return spark.range(0, count, 1, partitions).selectExpr(
        "cast(lpad(cast(id as string), 8, '0') as binary) as payload"
    )


def write_stream(spark: Any, source: str, checkpoint: str, options: dict[str, Any], fmt: str = FORMAT) -> Any:
    """Write one text file each epoch to the sink, until there is none left; return the query."""
    lines = spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(source)
    written = (
        lines.selectExpr("cast(value as binary) as payload")
        .writeStream.format(fmt)
        .options(**options)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
    )
    query = come_up(written.start)
    query.awaitTermination()
    return query


def main() -> None:
    asked = json.load(sys.stdin)
    spark = local_session("driver", master=asked["master"], settings=asked["settings"])
    spark.sparkContext.setLogLevel("ERROR")
    spark.dataSource.register(FaultySource)
    if "rows" in asked:
        frame = rows(spark, asked["rows"], asked["partitions"])
        frame.write.format(FORMAT).mode("append").options(**asked["options"]).save()
    else:
        write_stream(spark, asked["input"], asked["checkpoint"], asked["options"])
    spark.stop()


if __name__ == "__main__":
    main()
