"""The explicit last add confirmed, which a writer publishes between appends (docs/protocol/last-add-confirmed.md).

Each entry carries the last add confirmed of the time it was sent.  So readers see the last entries before a pause as
confirmed only after the next append, or after this.
"""

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any
from weakref import WeakMethod

from bookkeeper_tx.client.add_entry import Adds
from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.driver import Driver, Promise, Timer
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import BookKeeperError, ClientClosed
from bookkeeper_tx.model import BookieId, ledger_name
from bookkeeper_tx.protocol.client.requests.last_add_confirmed import WriteLastAddConfirmed
from bookkeeper_tx.quorums.quorum import Quorum
from protocol_specs import fields


class ExplicitLastAddConfirmed:
    """Publishes the last add confirmed of one writer, on demand and at the configured interval."""

    def __init__(self, context: ClientContext, ledger_id: int, digest: EntryDigest, quorum: Quorum, adds: Adds) -> None:
        self._context = context
        self._ledger_id = ledger_id
        self._digest = digest
        self._quorum = quorum
        self._adds = adds
        self.published = fields.NO_ENTRY
        """The highest that was published."""
        self._call: Timer | None = None
        self._interval_s = context.config.explicit_lac_interval_s
        if self._interval_s:
            self._wait()

    def write(self) -> "Promise[int]":
        """Publish the last add confirmed; fires with it when an ack quorum has it, so that readers cannot miss it."""
        last_add_confirmed = self._adds.last_add_confirmed
        if last_add_confirmed == fields.NO_ENTRY:
            return self._context.driver.succeed(last_add_confirmed)
        write = _Write(self._context.driver, self._ledger_id, last_add_confirmed, self._quorum, self._adds)
        return self._context.driver.spawn(self._write(write))

    def stop(self) -> None:
        """Stop publishing at the interval; :meth:`write` still works."""
        self._interval_s = 0
        if self._call is not None:
            self._call.cancel()
            self._call = None

    async def _write(self, write: "_Write") -> int:
        last_add_confirmed = await write.start(self._digest)
        self.published = max(self.published, last_add_confirmed)
        return last_add_confirmed

    def _wait(self) -> None:
        if self._interval_s:
            # The clock must not keep a writer that its program has dropped without closing it.
            self._call = self._context.clock.callLater(self._interval_s, call_if_alive, WeakMethod(self._due))

    def _due(self) -> None:
        self._call = None
        if self._adds.error is not None or self._context.bookies.stopped:
            return
        if self._adds.last_add_confirmed > max(self.published, self._carried()):
            self._context.driver.when_done(self.write(), self._ended)
        else:
            self._wait()

    def _carried(self) -> int:
        """Return the last add confirmed that the last entry carries.

        If the last entry is confirmed itself, that is at most the id before its own.
        """
        last = self._adds.last
        if last is not None:
            return self._digest.verify(self._ledger_id, None, last.entry)[1]
        return self._adds.last_add_confirmed - 1

    def _ended(self, error: Exception | None, _: Any) -> None:
        """Log an error: readers see the last add confirmed later, after the next append or the next interval."""
        self._wait()
        if isinstance(error, BookKeeperError):
            if not isinstance(error, ClientClosed):
                self._context.driver.warn(str(error))
        elif error is not None:
            raise error


def call_if_alive(method: "WeakMethod[Callable[[], None]]") -> None:
    """Call a method unless its object has been dropped: for a clock, which must not keep it."""
    call = method()
    if call is not None:
        call()


class _Write:
    """One explicit last add confirmed on its way.

    An ack quorum of the write set of its entry is enough.  It is sent to the other bookies that store entries as well,
    because a tailing reader may wait at any of them.  It is not sent to bookies that store no entry: they could not
    answer a request for last add confirmed and last entry together.
    """

    def __init__(self, driver: Driver, ledger_id: int, last_add_confirmed: int, quorum: Quorum, adds: Adds) -> None:
        self._ledger_id = ledger_id
        self._last_add_confirmed = last_add_confirmed
        self._bookies = adds.bookies
        self._counted = quorum.write_set(last_add_confirmed)
        self._missing = quorum.ack_quorum_size
        first = max(adds.fragment_start, last_add_confirmed - quorum.ensemble_size + 1)
        stored = map(quorum.write_set, range(first, last_add_confirmed + 1))
        self._targets = sorted({*self._counted, *chain.from_iterable(stored)})
        self._waiting = len(self._targets)
        self._errors: list[tuple[BookieId, BookKeeperError]] = []
        self.deferred: Promise[int] = driver.promise()

    def start(self, digest: EntryDigest) -> "Promise[int]":
        """Send the requests."""
        body = digest.seal_last_add_confirmed(self._ledger_id, self._last_add_confirmed)
        request = WriteLastAddConfirmed(self._ledger_id, self._last_add_confirmed, digest.master_key, body)
        for index in self._targets:
            self._bookies[index][1].send(request, partial(self._replied, index))
        return self.deferred

    def _replied(self, index: int, error: BookKeeperError | None, _: Any) -> None:
        self._waiting -= 1
        if error is not None:
            self._errors.append((self._bookies[index][0], error))
        elif index in self._counted:
            self._missing -= 1
        if self.deferred.called:
            return
        if self._missing <= 0:
            self.deferred.callback(self._last_add_confirmed)
        elif not self._waiting:
            self.deferred.errback(self._not_stored())

    def _not_stored(self) -> BookKeeperError:
        reasons = "; ".join(f"{bookie}: {error}" for bookie, error in self._errors)
        return type(self._errors[0][1])(
            f"too few bookies stored the last add confirmed {self._last_add_confirmed} of ledger "
            f"{ledger_name(self._ledger_id)} ({reasons})"
        )
