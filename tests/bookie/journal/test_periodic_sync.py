"""bookkeeper_tx.bookie.journal.periodic_sync: a journal that does not sync its groups is synced in the end."""

from twisted.internet.task import Clock

from bookkeeper_tx.bookie.journal.last_mark import LogMark
from bookkeeper_tx.bookie.journal.periodic_sync import PeriodicSync
from tests.bookie.crashing_disk import CrashingDisk
from tests.bookie.journal.journals import FIRST_ID
from tests.bookie.journal.test_lazy_journal import FIRST_GROUP, GROUP, append, lazy_journal


def test_it_is_synced_at_every_interval_while_there_is_something_to_sync(disk: CrashingDisk) -> None:
    clock, journal = Clock(), lazy_journal(disk)
    periodic = PeriodicSync(clock, journal, 1.0)
    periodic.start()
    clock.advance(1)
    assert journal.mark == LogMark(FIRST_ID, FIRST_GROUP), "nothing was written, nothing is synced"
    append(journal, 0)
    clock.advance(0.5)
    append(journal, 1)
    assert journal.unsynced
    clock.advance(0.5)
    assert not journal.unsynced
    assert journal.mark == LogMark(FIRST_ID, FIRST_GROUP + 3 * GROUP)
    append(journal, 2)
    clock.advance(1)
    assert not journal.unsynced
    periodic.stop()
    assert clock.getDelayedCalls() == []
