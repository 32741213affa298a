"""Adding entries: to the whole write quorum at once, acknowledged by the ack quorum, completed strictly in order.

The writer and recovery share this.  They differ in where they write down a new ensemble, so each passes its own
``replace``.  This is the hot path of appending: a handful of operations an entry, one C-made callable a replica.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.client.force_ledger import Force
from bookkeeper_tx.client.pending_add import Answers, Pending, PendingAdd, PendingRun
from bookkeeper_tx.client.write_ensemble import Replace, Slot, WriteEnsemble
from bookkeeper_tx.config import WireProtocol
from bookkeeper_tx.driver import Promise
from bookkeeper_tx.errors import (
    AuthenticationFailed,
    BookKeeperError,
    ClientClosed,
    LedgerFenced,
    NotEnoughBookies,
    Unauthorized,
)
from bookkeeper_tx.model import BookieId, ledger_name
from bookkeeper_tx.quorums.quorum import Quorum
from protocol_specs.ledger_id import SCOPED_MIN


class Adds(WriteEnsemble):
    """The entries of one ledger that wait for their ack quorum."""

    def __init__(
        self,
        context: ClientContext,
        ledger_id: int,
        quorum: Quorum,
        master_key: bytes,
        ensemble: Sequence[BookieId],
        replace: Replace,
        *,
        last_add_confirmed: int,
        length: int,
        flags: int = 0,
    ) -> None:
        super().__init__(context, ledger_id, quorum, ensemble, replace, last_add_confirmed)
        self._ack_quorum_size = quorum.ack_quorum_size
        self._master_key = master_key
        self._flags = flags
        self._waiting: list[tuple[int, Promise[None]]] = []
        self.pending: deque[Pending] = deque()
        self.length = length
        """Payload bytes of the ledger up to the last add confirmed."""
        self.answers: Answers | None = None
        """What the promises of entries fire with, if that is not their ids."""
        self.told: Callable[[BookKeeperError], BookKeeperError] = lambda error: error
        """What they fail with, for the error of the ledger."""
        self.on_progress: Callable[[], None] | None = None
        """If set, it is called whenever entries were completed or have failed."""
        self.on_idle: Callable[[], None] | None = None
        """If set, it is called whenever entries were completed and none is on its way."""

    @property
    def acknowledged(self) -> tuple[int, int]:
        """The last entry that is acknowledged with all entries before it, and the payload bytes of the ledger to it."""
        return self.last_add_confirmed, self.length

    @property
    def outstanding(self) -> int:
        """How many entries are pending."""
        return self.pending[-1].entry_id - self.acknowledged[0] if self.pending else 0

    @property
    def outstanding_bytes(self) -> int:
        """Payload bytes of these entries."""
        return self.pending[-1].length - self.acknowledged[1] if self.pending else 0

    @property
    def last(self) -> Pending | None:
        """That of the highest id; None if none is pending."""
        return self.pending[-1] if self.pending else None

    def push(self, entry_id: int, entry: bytes, length: int, deferred: Promise[Any] | None, result: Any) -> None:
        """Send the next entry; ``length`` is the ledger's payload up to it, ``deferred`` fires with ``result``."""
        if self.error is not None:
            if deferred is not None:
                deferred.errback(self.error.again())
            return
        add = PendingAdd(entry_id, entry, length, self._ack_quorum_size, deferred, result)
        self.pending.append(add)
        ledger_id, key, flags, replied = self._ledger_id, self._master_key, self._flags, self._replied
        for slot in self._write_slots[entry_id % self._ensemble_size]:
            slot.channel.add_entry(ledger_id, entry_id, entry, key, partial(replied, add, slot), flags)

    def before_send(self, call: Callable[[], None]) -> bool:
        """Have ``call`` called before the next bytes are sent to any bookie; False if there is no connection to one.

        All of them are asked, so that what ``call`` sends leaves on each at the end of this turn.
        """
        asked = [slot.channel.before_send(call) for slot in self._slots]
        return any(asked)

    @property
    def takes_runs(self) -> bool:
        """Whether :meth:`push_run` may be called: every bookie gets every entry, and requests can go as runs."""
        return (
            self._quorum.write_quorum_size == self._ensemble_size
            and not self._flags
            and self._ledger_id < SCOPED_MIN
            and self._context.config.protocol is WireProtocol.V2
        )

    def push_run(
        self,
        first: int,
        entries: Sequence[bytes],
        length: int,
        deferred: Promise[Any] | None,
        result: Any,
        deferreds: Sequence[Promise[int]] = (),
    ) -> None:
        """Send the next entries, as :meth:`push` does each; ``length`` is the ledger's payload up to the last one.

        Instead of ``deferred`` there may be ``deferreds``, one for each entry, which fire with their ids.
        """
        run = PendingRun(first, entries, length, self._ack_quorum_size, deferred, result, deferreds, self.answers)
        if self.error is not None:
            run.fail(self.error)
            return
        self.pending.append(run)
        for slot in self._slots:
            done = partial(self._run_replied, run, slot)
            slot.channel.add_entries(self._ledger_id, first, entries, self._master_key, done)

    def when_fewer(self, count: int) -> Promise[None]:
        """Fire when fewer than ``count`` entries are pending, or all have failed."""
        deferred: Promise[None] = self._context.driver.promise()
        if self.outstanding < count:
            deferred.callback(None)
        else:
            self._waiting.append((count, deferred))
        return deferred

    async def force(self) -> None:
        """Have every bookie of the ensemble make the entries acknowledged before durable."""
        await Force(self._context.driver, self._ledger_id, self.bookies).start()

    async def settle(self) -> None:
        """Confirm the entries that are acknowledged and not confirmed; here there are none."""

    def fail(self, error: BookKeeperError) -> None:
        """End with ``error``: every pending entry fails, and every later one fails at once."""
        if self.error is None:
            self.error = self.told(error)
        failed = list(self.pending)
        self.pending.clear()
        for add in failed:
            add.fail(self.error)
        self._progressed()

    def _replied(self, add: PendingAdd, slot: Slot, error: BookKeeperError | None, _: None) -> None:
        if error is not None:
            self._failed(add, slot, error)
        elif not slot.replaced:
            add.acknowledged |= slot.bit
            add.missing = missing = add.missing - 1
            if missing == 0 and self.pending and self.pending[0] is add:
                self._complete()

    def _run_replied(
        self, run: PendingRun, slot: Slot, error: BookKeeperError | None, value: int | Collection[int] | None
    ) -> None:
        """Take part of the replies to a run: ``value`` is where they end, or which entries they are of."""
        if isinstance(value, int):
            for add in run.acknowledge(slot.bit, value):
                self._replied(add, slot, None, None)
            if not slot.replaced and self.pending and self.pending[0] is run:
                self._complete()
            return
        if self.error is None and not run.parts and not slot.replaced and run.entry_id > self.last_add_confirmed:
            self._split_runs()
        parts = run.parts_of(value)
        for add in parts:
            self._replied(add, slot, error, None)
        if error is not None and not parts:
            self._failed(run, slot, error)

    def _split_runs(self) -> None:
        """Put the entries of each pending run in its place; of all of them, since the next one will fail like one."""
        pending = list(self.pending)
        self.pending.clear()
        for add in pending:
            if isinstance(add, PendingRun):
                self.pending.extend(add.split())
            else:
                self.pending.append(add)

    def _complete(self) -> None:
        # While the ensemble changes the last add confirmed must stand still: the new fragment starts after it, and
        # an entry acknowledged by a bookie that is being replaced would lie in a fragment without that bookie.
        pending = self.pending
        while pending and not self._changing:
            add = pending[0]
            if add.missing > 0:
                if isinstance(add, PendingRun):
                    self._confirm_part(add)
                break
            pending.popleft()
            self.last_add_confirmed = add.entry_id
            self.length = add.length
            if add.deferred is not None:
                add.deferred.callback(add.result)
            elif isinstance(add, PendingRun):
                add.confirm(add.entry_id + 1)
        if self._waiting or self.on_progress is not None:
            self._progressed()
        if self.on_idle is not None and not pending:
            self.on_idle()

    def _confirm_part(self, run: PendingRun) -> None:
        end = run.acknowledged_end
        if end > run.confirmed:
            self.last_add_confirmed, self.length = end - 1, run.length_to(end)
            run.confirm(end)

    def _progressed(self) -> None:
        if self.on_progress is not None:
            self.on_progress()
        if self._waiting:
            ready = [waiter for waiter in self._waiting if self.outstanding < waiter[0]]
            self._waiting = [waiter for waiter in self._waiting if waiter not in ready]
            for _, deferred in ready:
                deferred.callback(None)

    # Failing bookies -------------------------------------------------------------------------------------------------

    def _failed(self, add: Pending, slot: Slot, error: BookKeeperError) -> None:
        if self.error is not None or slot.replaced:
            return
        if isinstance(error, (LedgerFenced, Unauthorized, AuthenticationFailed)):
            self.fail(type(error)(f"ledger {ledger_name(self._ledger_id)}, bookie {slot.bookie_id}: {error}"))
            return
        if isinstance(error, ClientClosed):
            self.fail(error)
            return
        add.refused |= slot.bit
        slot.lacks_from = min(slot.lacks_from, add.first_entry_id)
        if not self._replaces(slot, error) and not self._changing and self._lacks_ack_quorum(add):
            self.fail(self._too_few(None))

    def _send_again(self, changed: int) -> None:
        self._split_runs()
        for add in self._single_adds():
            for slot in self._write_slots[add.entry_id % self._ensemble_size]:
                if slot.bit & changed:
                    if add.acknowledged & slot.bit:
                        add.missing += 1
                    add.acknowledged &= ~slot.bit
                    add.refused &= ~slot.bit
                    done = partial(self._replied, add, slot)
                    slot.channel.add_entry(
                        self._ledger_id, add.entry_id, add.entry, self._master_key, done, self._flags
                    )

    def _single_adds(self) -> Iterator[PendingAdd]:
        for add in self._unconfirmed():
            assert isinstance(add, PendingAdd)
            yield add

    def _unconfirmed(self) -> Iterable[Pending]:
        """Return the entries that are on their way."""
        return self.pending

    def _require_ack_quorum(self, shortage: NotEnoughBookies | None) -> None:
        if any(map(self._lacks_ack_quorum, self._unconfirmed())):
            self.fail(self._too_few(shortage))

    def _lacks_ack_quorum(self, add: Pending) -> bool:
        """Return whether so many bookies have refused ``add`` that the others are no ack quorum."""
        return add.missing > 0 and add.refused.bit_count() >= self._quorum.absence_size
