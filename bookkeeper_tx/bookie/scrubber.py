"""The local scrubber: now and then it is looked whether all entries that the indexes have are in the entry logs."""

import random
from collections.abc import Callable
from typing import Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from bookkeeper_tx.bookie.garbage.pace import Pace, Stopped
from bookkeeper_tx.bookie.storage.scrub import Looked, ScrubFailed, Suspect
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import StorageFailed
from bookkeeper_tx.model import ledger_name
from bookkeeper_tx.threads.worker import Threads
from protocol_specs.disk.ledger_index import PAGE_COUNT
from protocol_specs.fields import NO_ENTRY

FAULTS_LOGGED: Final = 100
"""Of one run."""

log = Logger()


class Scrubber:
    """Looks at all entries of ``storage``, on ``thread``, at the rate of ``config``: again and again.

    The first run, and each after the one before, comes after half the interval to one and a half, as ``chance()``
    wills, which is 0 to 1.  What is wrong is logged and counted.  ``on_fatal(error)`` is called when the disk does not
    give what is stored; then there are no more runs.
    """

    def __init__(
        self,
        clock: IReactorTime,
        config: BookieConfig,
        storage: AnyStorage,
        thread: Threads,
        on_fatal: Callable[[BaseException], None],
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.error_count = 0
        """Entries, and indexes, that were wrong."""
        self.fatal_count = 0
        """Runs that ended because the disk does not give what is stored."""
        self.retry_count = 0
        """Parts of pages that were looked at again, because something was changed meanwhile."""
        self.on_run: Callable[[float, bool], None] = lambda took_s, succeeded: None
        """Called when a run has ended, with whether it has come to its end."""
        self.on_page: Callable[[float, bool], None] = lambda took_s, succeeded: None
        """Called when entries of one page were looked at, with whether all of them were right."""
        self._clock = clock
        self._interval_s = config.local_scrub_interval_s
        rate = config.local_scrub_rate
        self._pace = Pace(clock, rate or float("inf"))
        self._count_max = min(max(int(rate), 1), PAGE_COUNT) if rate else PAGE_COUNT
        """Entries looked at together: of a second at most, so that slow scrubbing does not come in bursts."""
        self._storage = storage
        self._thread = thread
        self._on_fatal = on_fatal
        self._chance = chance
        self._timer: IDelayedCall | None = None
        self._running: Deferred[None] | None = None
        self._stopped = False
        self._run_errors = 0

    def start(self) -> None:
        """Wait for the first run."""
        self._timer = self._clock.callLater(self._interval_s * (1.5 - self._chance()), self._begin)

    def stop(self) -> Deferred[None]:
        """Look at nothing more; fires when what is read now was read."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._pace.stop()
        ended: Deferred[None] = Deferred()
        if self._running is None:
            ended.callback(None)
        else:
            self._running.addBoth(lambda _: ended.callback(None))
        return ended

    def _begin(self) -> None:
        self._timer = None
        self._running = Deferred.fromCoroutine(self._run())

    async def _run(self) -> None:
        started_s, succeeded = self._clock.seconds(), False
        try:
            await self._scrub()
            succeeded = True
        except Stopped:
            return
        except ScrubFailed as error:
            self.fatal_count += 1
            log.error("the scrubber ends: {error}", error=error)
            self._stopped = True
            self._on_fatal(error)
        except StorageFailed as error:
            log.error("the scrubber begins anew later: {error}", error=error)
        except Exception:
            log.failure("the scrubber begins anew later, after an error that nobody has thought of")
        self.on_run(self._clock.seconds() - started_s, succeeded)
        if not self._stopped:
            self.start()

    async def _scrub(self) -> None:
        """Look at all ledgers.  Raises ScrubFailed, StorageFailed, Stopped."""
        self._run_errors = ledgers = entries = 0
        for ledger_id in self._storage.collection.ledger_ids():
            next_id: int | None = 0
            while next_id is not None and self._is_here(ledger_id):
                looked = await self._look(ledger_id, next_id)
                entries, next_id = entries + looked.entry_count, looked.next_id
            ledgers += 1
        log.info(
            "scrubbed {entries} entries of {ledgers} ledgers: {errors} are wrong",
            entries=entries,
            ledgers=ledgers,
            errors=self._run_errors,
        )

    async def _look(self, ledger_id: int, first_id: int) -> Looked:
        """Look at some entries, until what is wrong stays wrong, and count that."""
        started_s = self._clock.seconds()
        before: Looked | None = None
        while True:
            looked: Looked = await self._thread.run(self._storage.scrub.look, ledger_id, first_id, self._count_max)
            wrong = [each for each in looked.suspects if self._is_in_index(ledger_id, each)]
            if not wrong or (before is not None and looked.suspects == before.suspects):
                break
            self.retry_count += before is not None
            before = looked
            await self._spend(looked.entry_count)
        for suspect in wrong:
            self._found(ledger_id, suspect)
        self.on_page(self._clock.seconds() - started_s, not wrong)
        await self._spend(looked.entry_count)
        return looked

    async def _spend(self, count: int) -> None:
        if self._stopped:
            raise Stopped
        await self._pace.spend(count)

    def _is_here(self, ledger_id: int) -> bool:
        return self._storage.collection.has_ledger(ledger_id)

    def _is_in_index(self, ledger_id: int, suspect: Suspect) -> bool:
        """Whether the index answers for an entry: not of a ledger that was deleted, nor of what is flushed again."""
        unflushed = self._storage.unflushed_ranges(ledger_id)
        return self._is_here(ledger_id) and not any(suspect.entry_id in each for each in unflushed)

    def _found(self, ledger_id: int, suspect: Suspect) -> None:
        self.error_count += 1
        self._run_errors += 1
        if self._run_errors <= FAULTS_LOGGED:
            entry = "its index" if suspect.entry_id == NO_ENTRY else f"entry {suspect.entry_id}"
            log.error(
                "scrubbing found ledger {ledger}, {entry}, wrong: {text}",
                ledger=ledger_name(ledger_id),
                entry=entry,
                text=suspect.text,
            )
