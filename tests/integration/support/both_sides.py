"""A cluster that Java and we use together."""

import re

from bookkeeper_tx.blocking import BookKeeper
from compat_tests.targets.java.client import JavaClient
from compat_tests.targets.java.driver_process import JavaError
from tests.integration.support.java_shell import JavaShell

PAYLOADS = [bytes([index]) * 100 for index in range(5)]


def both_use_it(ours: BookKeeper, java: JavaClient) -> tuple[list[int], list[int]]:
    """Write by either side, read by the other; return the ids that are left and those that either side has deleted."""
    with ours.create_ledger(1, 1, 1, password=b"pw") as writer:
        writer.append_many(PAYLOADS)
    written = java.create_ledger(password=b"pw")
    written.append_many(5, 100)
    written.close()
    more = [java.create_ledger(password=b"pw"), java.create_ledger(password=b"pw")]
    for ledger in more:
        ledger.append_many(5, 100)
        ledger.close()
    assert list(java.open_ledger(writer.ledger_id, password=b"pw").read(0, 4)) == PAYLOADS
    with ours.open_ledger(written.ledger_id, password=b"pw") as reader:
        assert [len(entry.payload) for entry in reader.read(0, 4)] == [100] * 5
    left, gone = [writer.ledger_id, written.ledger_id], [each.ledger_id for each in more]
    assert sorted(java.ledgers()) == sorted(ours.list_ledgers()) == sorted(left + gone)
    ours.delete_ledger(gone[0])
    java.delete_ledger(gone[1])
    assert sorted(java.ledgers()) == sorted(ours.list_ledgers()) == sorted(left)
    return sorted(left), gone


def are_collected(java: JavaClient, bookie_id: str, ledger_ids: list[int]) -> bool:
    """Tell whether a bookie, ours or Java's, has none of these ledgers any more."""
    for ledger_id in ledger_ids:
        try:
            java.list_entries(bookie_id, ledger_id)
            return False
        except JavaError:
            pass
    return True


def listed(java_shell: JavaShell) -> list[int]:
    """Return the ids that Java's shell lists, and have it show the metadata of each."""
    text = java_shell.run("listledgers")
    found = sorted(int(each) for each in re.findall(r"\{ledgerId=(\d+)", text))
    for ledger_id in found:
        assert "state=CLOSED" in java_shell.run("ledgermetadata", "-ledgerid", ledger_id)
    return found
