"""bookkeeper_tx.bookie.disks: the disks of journals, ledgers and indexes together."""

from typing import Any

import pytest

from bookkeeper_tx.bookie.disks import BookieDisks
from tests.bookie.test_space import SIZE, Disks, config_of

JOURNAL, LEDGER, INDEX = "/j/current", "/l/current", "/i/current"


def looked(used: dict[str, int], index: str = INDEX) -> BookieDisks:
    disk: Any = Disks()
    disk.used = dict.fromkeys((JOURNAL, LEDGER, INDEX), 0) | used
    disks = BookieDisks(disk, [JOURNAL], [LEDGER], [index], config_of(entry_log_bytes_max=20))
    disks.look()
    return disks


@pytest.mark.parametrize("directory", [LEDGER, INDEX])
def test_a_full_disk_of_ledgers_or_of_indexes_makes_the_bookie_read_only(directory: str) -> None:
    assert not looked({}).read_only
    disks = looked({directory: 951})
    assert (disks.full, disks.read_only, disks.reserve_used) == (True, True, False)
    assert looked({directory: SIZE}).reserve_used
    assert not disks.journals_short


def test_a_full_journal_is_short_and_no_more() -> None:
    disks = looked({JOURNAL: SIZE})
    assert disks.journals_short
    assert not disks.full


def test_their_usage_is_told_by_the_directory_in_the_configuration() -> None:
    ledgers, indexes = looked({LEDGER: 100, INDEX: 200}).usage()
    assert {name: space.used for name, space in ledgers.items()} == {"/l": pytest.approx(0.1)}
    assert {name: space.used for name, space in indexes.items()} == {"/i": pytest.approx(0.2)}


def test_indexes_in_the_ledger_directories_are_told_once() -> None:
    disks = looked({}, LEDGER)
    assert disks.indexes is disks.ledgers
    assert disks.usage()[1] == {}


def test_a_storage_for_each_ledger_directory_has_its_own_disks() -> None:
    disk: Any = Disks()
    disk.used = dict.fromkeys((JOURNAL, LEDGER, INDEX, "/l2/current", "/i2/current"), 0)
    config = config_of(ledger_storage_class="DbLedgerStorage")
    disks = BookieDisks(disk, [JOURNAL], [LEDGER, "/l2/current"], [INDEX, "/i2/current"], config)
    first, second = disks.homes
    assert [list(each.spaces) for each in (second.ledgers, second.indexes)] == [["/l2/current"], ["/i2/current"]]
    disk.used["/i2/current"] = SIZE
    disks.look()
    assert (first.full, second.full, disks.read_only) == (False, True, True)
    (only,) = BookieDisks(disk, [JOURNAL], [LEDGER], [INDEX], config).homes
    assert list(only.ledgers.spaces) == [LEDGER]
