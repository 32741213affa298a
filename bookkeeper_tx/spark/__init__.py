"""The Spark formats and jobs: ledgers as tables and streams (docs/guides/spark.md).

No other package of bookkeeper_tx uses pyspark and pyarrow.
"""
