"""The counter of flushes."""

import os

from bookkeeper_tx.cli.bench.flushes import FlushCounter


class Cluster:
    """Bookies with these marks."""

    def __init__(self, *marks):
        self.marks = marks

    def last_marks(self):
        return self.marks


def test_a_mark_that_was_replaced_is_a_flush(tmp_path):
    mark, other = tmp_path / "mark", tmp_path / "other"
    for path in (mark, other):
        path.touch()
    with FlushCounter(Cluster(mark, other)) as counter:
        os.utime(other, ns=(1, 1))
    assert counter.flushes == 1


def test_without_a_flush_none_is_counted(tmp_path):
    mark = tmp_path / "mark"
    mark.touch()
    with FlushCounter(Cluster(mark)) as counter:
        pass
    assert counter.flushes == 0
