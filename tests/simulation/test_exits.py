"""A bookie may end by itself for what is wrong with it, and for nothing else."""

import pytest

from tests.simulation.world.exits import Stage, check_exit
from tests.simulation.world.history import Violation

LOST = "bookie: /journal/current has lost the files of this bookie: [Errno 2] No such file or directory"
NO_DESCRIPTOR = "bookie: cannot open journal directory /journal/current: [Errno 24] Too many open files"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("bookie: cannot sync journal file /journal/current/a.txn: [Errno 5] Input/output error", "failing syncs"),
        (LOST, "vanished directory"),
        ("bookie: journal file /journal/current/a.txn is damaged before offset 5", "zeroed sector"),
        ("bookie: a journal file is missing: /journal/current/a.txn; bring it back", "lost journal file"),
    ],
)
def test_a_bookie_may_end_for_what_has_struck_at_it(line: str, kind: str) -> None:
    check_exit("b", [line], Stage.SERVING, struck={kind, "kill"}, told=False)
    with pytest.raises(Violation, match="must not for that: bookie: "):
        check_exit("b", [line], Stage.SERVING, struck={"kill"}, told=False)


def test_a_bookie_that_begins_needs_descriptors_and_one_that_serves_goes_on_without() -> None:
    check_exit("b", [NO_DESCRIPTOR], Stage.STARTING, struck={"no descriptors"}, told=False)
    with pytest.raises(Violation, match="Too many open files"):
        check_exit("b", [NO_DESCRIPTOR], Stage.SERVING, struck={"no descriptors"}, told=False)


@pytest.mark.parametrize(
    ("said", "kind"), [("[Errno 28] No space left", "full disk"), ("[Errno 30] Read-only file", "read only disk")]
)
def test_a_bookie_that_has_served_before_needs_no_disk_that_can_be_written(said: str, kind: str) -> None:
    line = f"bookie: cannot write /ledgers/current/lastMark: {said}"
    check_exit("b", [line], Stage.NEW, struck={kind}, told=False)
    with pytest.raises(Violation, match="must not for that: bookie: "):
        check_exit("b", [line], Stage.STARTING, struck={kind}, told=False)


def test_each_line_has_to_have_its_reason() -> None:
    lines = [LOST, "bookie: while stopping: the metadata store did not answer in time"]
    check_exit("b", lines, Stage.SERVING, {"vanished directory", "store away"}, told=False)
    with pytest.raises(Violation, match="while stopping: the metadata store"):
        check_exit("b", lines, Stage.SERVING, {"vanished directory"}, told=False)
    with pytest.raises(Violation, match="while stopping: nobody has thought of that"):
        check_exit(
            "b",
            [LOST, "bookie: while stopping: nobody has thought of that"],
            Stage.SERVING,
            {"vanished directory"},
            True,
        )


def test_a_bookie_that_was_told_to_stop_needs_no_other_reason() -> None:
    check_exit("b", [], Stage.SERVING, struck=(), told=True)
    with pytest.raises(Violation, match="nobody knows why"):
        check_exit("b", [], Stage.SERVING, struck=(), told=False)
