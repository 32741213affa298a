"""The client whose calls wait has the names and the arguments of the others."""

import inspect
from typing import Any

import pytest

from bookkeeper_tx import BookKeeper, LedgerReader, LedgerWriter
from bookkeeper_tx.blocking import client, handles, replicated_log
from bookkeeper_tx.replicated_log import Leadership, LogWriter, Namespace

FOR_OPERATIONS = {
    *("after_failure", "ask_last_add_confirmed", "learn_last_add_confirmed", "out_of_range", "refresh", "replicas_of"),
    *("read_entry_for", "single_reads_for", "stale", "watched", "when_changed"),
}
"""What the operations of the client call on a reader."""

FOR_ROLLING = {"change_ledger", "refusal", "refuse", "look_at_size", "write_for", "writer"}

FACES = [
    # The store, and what others build on, are without.
    (BookKeeper, client.BookKeeper, {"closed", "driver", "metadata", "run"}),
    (
        LedgerWriter,
        handles.LedgerWriter,
        {"answer", "append_for", "append_many_for", "checked", "drained", "publish_when_idle", "tell_at"},
    ),
    (LedgerReader, handles.LedgerReader, FOR_OPERATIONS),
    (Namespace, replicated_log.Namespace, set()),
    (LogWriter, replicated_log.LogWriter, FOR_ROLLING),
    (Leadership, replicated_log.Leadership, set()),
]


def names(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def arguments(function: Any) -> list[tuple[str, Any, Any]]:
    return [(each.name, each.default, each.kind) for each in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize(("other", "waiting", "without"), FACES)
def test_names_and_arguments_are_those_of_the_others(other: type, waiting: type, without: set[str]) -> None:
    assert names(other) - names(waiting) == without
    for name in names(other) & names(waiting):
        of_other = getattr(other, name)
        if callable(of_other):
            assert (name, arguments(getattr(waiting, name))) == (name, arguments(of_other))
