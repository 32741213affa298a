"""Errors of Spark in one line."""

from bookkeeper_tx.spark.jobs.failure import CannotBeDone, one_line

PLANNING = """[PYTHON_DATA_SOURCE_ERROR] Failed to generate partitions: Traceback (most recent call last):
  File "/x/entrylog_table.py", line 56, in partitions
    logs = [(path, os.path.getsize(path)) for path in find_logs(paths)]
bookkeeper_tx.errors.InvalidConfig: option path: no entry log at '/tmp/x': write a file
 SQLSTATE: 38000"""

TASK = """Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, most recent failure: Lost task 0.0
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/x/worker.py", line 1, in main
    process()
bookkeeper_tx.errors.EntriesMissing: ledger 5: entry 7 is missing (bookie a: There is no such entry.)
They are lost unless a bookie that has them comes back.

\tat org.apache.spark.api.python.BasePythonRunner.handlePythonException(PythonRunner.scala:600)
\tat org.apache.spark.rdd.RDD.iterator(RDD.scala:323)

Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:3)
Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/x/worker.py", line 1, in main
bookkeeper_tx.errors.EntriesMissing: ledger 5: entry 7 is missing (bookie a: There is no such entry.)"""

FOREIGN = """[PYTHON_DATA_SOURCE_ERROR] Failed: Traceback (most recent call last):
  File "/x/y.py", line 1, in partitions
    open(path)
PermissionError: [Errno 13] Permission denied: '/data'
 SQLSTATE: 38000"""

SPARKS = """[PATH_ALREADY_EXISTS] Path file:/tmp/out already exists. Set mode as "overwrite". SQLSTATE: 42K04

JVM stacktrace:
org.apache.spark.sql.AnalysisException
\tat org.apache.spark.sql.errors.QueryCompilationErrors$.outputPathAlreadyExistsError(Errors.scala:1)"""


def test_errors_of_this_package_say_what_they_say() -> None:
    assert one_line(Exception(PLANNING)) == "option path: no entry log at '/tmp/x': write a file"


def test_what_the_error_adds_is_kept_and_the_stacks_are_not() -> None:
    assert one_line(Exception(TASK)) == (
        "ledger 5: entry 7 is missing (bookie a: There is no such entry.)"
        " They are lost unless a bookie that has them comes back."
    )


def test_other_errors_in_python_have_their_kind() -> None:
    assert one_line(Exception(FOREIGN)) == "PermissionError: [Errno 13] Permission denied: '/data'"


def test_errors_of_spark_have_no_code_and_no_stack() -> None:
    assert one_line(Exception(SPARKS)) == 'Path file:/tmp/out already exists. Set mode as "overwrite".'


def test_errors_without_text_have_their_kind() -> None:
    assert one_line(KeyError()) == "KeyError"
    assert one_line(CannotBeDone("no way")) == "no way"
