"""A client that sends requests one after the other makes a case unsupported; one that sends none fails it."""

import pytest

from compat_tests.client.stage import Stage
from compat_tests.judge.verdict import Mismatch, Unsupported


class Impatient:
    """Waits for nothing."""

    def wait_until(self, condition, what, timeout_s):
        if not condition():
            raise Mismatch(what, "within no time", "not yet")


def together(arrived, count):
    Stage.together(Impatient(), lambda: arrived, count)


def test_a_client_that_sends_one_request_behind_the_other_is_not_failed():
    together(3, 3)
    with pytest.raises(Unsupported, match="1 of 3"):
        together(1, 3)


def test_a_client_that_sends_nothing_is():
    with pytest.raises(Mismatch):
        together(0, 3)
