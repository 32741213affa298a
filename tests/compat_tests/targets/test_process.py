"""The end of a log."""

from compat_tests.targets.process import tail_of


def test_of_a_log_that_has_grown_the_last_lines_are_told(tmp_path):
    log = tmp_path / "bookie.log"
    assert tail_of(log, 2) == "(no log)"
    log.write_bytes(b"x" * 300_000 + b"\nbefore\n\xfflast\n")
    assert tail_of(log, 2) == "before\n\N{REPLACEMENT CHARACTER}last"
    assert len(tail_of(log, 3)) < 70_000
