"""Jobs for operators: ``bktx spark JOB``, or ``spark-submit`` with the same file (docs/guides/spark-jobs.md).

Each file is one job.  ``run(spark, settings, progress)`` runs it through the public DataFrame API, also over Spark
Connect, and returns a :class:`~bookkeeper_tx.spark.jobs.summary.Summary`.  ``command`` is its command line, and
``main(argv)`` runs that.  File names differ from the modules of the standard library, since spark-submit puts this
directory first on ``sys.path``.
"""
