"""The Spark formats and jobs: ledgers as tables and streams (docs/guides/spark.md).

Only here are pyspark and pyarrow used.
"""
