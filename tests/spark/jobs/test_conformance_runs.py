"""The conformance job counts the same verdicts as failures as the suite does."""

from bookkeeper_tx.spark.jobs.conformance_runs import FAILING
from compat_tests.judge.verdict import Verdict


def test_what_fails_is_what_the_suite_calls_so() -> None:
    assert set(FAILING) == {str(verdict) for verdict in Verdict if not verdict.fine}
