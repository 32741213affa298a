"""The appends of one writer on their way to its bookies: numbered, sealed, sent as there is room, held back else."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from typing import Any

from bookkeeper_tx.client.add_entry import Adds
from bookkeeper_tx.client.held_appends import HeldAppends
from bookkeeper_tx.client.pending_add import Answers
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.driver import Driver, Promise, fire
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import BookKeeperError, TooManyOutstandingAdds
from bookkeeper_tx.model import ledger_name
from protocol_specs import fields

RUN_COUNT_MAX = 256
"""Entries that are sent together: the bookies work on one run while the next is sealed."""

RUN_SIZE_MAX = 256 * 1024
"""Bytes that are sent together; a larger entry is sent alone."""

LONE_COUNT = 15
"""Appends that are sent at once after one that was alone in its turn: to gather it costs more than to send it."""


def _ids(entry_ids: range) -> Any:
    return entry_ids


def _nobody() -> None: ...


class AppendQueue:
    """Sends appends in the order in which they come, as many as the configuration lets be on their way."""

    def __init__(self, driver: Driver, config: ClientConfig, ledger_id: int, digest: EntryDigest, adds: Adds) -> None:
        self._driver = driver
        self._promise = driver.promise
        self._ledger_id = ledger_id
        self._digest = digest
        self._adds = adds
        self._outstanding_max = config.outstanding_adds_max
        self._outstanding_bytes_max = config.outstanding_bytes_max
        self._worth_count = min(RUN_COUNT_MAX, max(1, config.outstanding_adds_max // 4))
        self._worth_size = min(RUN_SIZE_MAX, max(1, config.outstanding_bytes_max // 4))
        """For how much room what is held back is sent: less would make many small runs of it in the end."""
        self._next_entry_id = fields.FIRST_ENTRY_ID
        self._pushed_length = 0
        self._takes_runs = adds.takes_runs
        self._gathered: list[bytes] = []
        """The payloads of appends of this turn of the reactor, which are sent as a run at its end."""
        self._gathered_deferreds: list[Promise[int]] = []
        """The promise of each of them."""
        self._at_once = 0
        """How many appends are to be sent without a look whether others come in the same turn."""
        self._held: deque[HeldAppends] = deque()
        self._held_count = 0
        self._entry_id_end = fields.FIRST_ENTRY_ID
        self._length_end: float = 0
        """Up to where an append is sent without looking whether others are held back or too many are on their way."""
        self._told_length: float = inf
        """Payload bytes of which somebody wants to be told, see :meth:`tell_at`."""
        self._reached: Callable[[], None] = _nobody
        self._answers: Answers | None = None
        """What the promises of entries fire with, if that is not their ids."""
        self.refusal: BookKeeperError | None = None
        """The error of new appends, once the writer takes no more."""
        self.releasing = False
        """Whether held appends are being sent: reading their payloads may run code that calls the writer."""

    def append(self, payload: bytes, deferred: Any = None) -> Promise[int]:
        """Send one entry, or hold it back; fires with its id.

        ``deferred`` is a promise to fire instead of a new one.
        """
        entry_id, length = self._next_entry_id, self._pushed_length
        if (entry_id >= self._entry_id_end or length >= self._length_end) and not self._find_room():
            return self.append_many([payload], 1, True, deferred)
        adds = self._adds
        if deferred is None:
            deferred = self._promise()
        if self._gathered or (self._takes_runs and self._gathers()):
            self._next_entry_id = entry_id + 1
            self._pushed_length = length + len(payload)
            self._gathered.append(payload)
            self._gathered_deferreds.append(deferred)
            return deferred  # type: ignore[no-any-return]
        self._next_entry_id = entry_id + 1
        self._pushed_length = length = length + len(payload)
        entry = self._digest.seal(self._ledger_id, entry_id, adds.last_add_confirmed, length, payload)
        answer = entry_id if self._answers is None else self._answers.one(entry_id)
        adds.push(entry_id, entry, length, deferred, answer)
        return deferred  # type: ignore[no-any-return]

    def answer(self, answers: Answers) -> None:
        """Let the promise of each later entry fire with what ``answers`` gives, and no longer with its id."""
        self._answers = self._adds.answers = answers

    def tell_at(self, length: float, reached: Callable[[], None]) -> None:
        """Call ``reached`` once, when the appends so far have ``length`` payload bytes and before the next is sent.

        That is at once if they have.  Of two calls the later one counts.  ``reached`` must not close this writer: it is
        called in the midst of an append.
        """
        self._told_length, self._reached = length, reached
        self._length_end = 0  # the next append looks where that ends now
        self._look_at_length()

    def refuse(self, error: BookKeeperError) -> None:
        """Let new appends fail with ``error``, or with that of the first call."""
        self.refusal = self.refusal or error
        self._entry_id_end = fields.FIRST_ENTRY_ID

    async def drain(self) -> None:
        """Return when every append was acknowledged or has failed; no new one is taken."""
        while self._held or self._gathered or self._adds.outstanding:
            if self.releasing:
                # The payloads that are being read have called close().
                turn: Promise[None] = self._driver.promise()
                self._driver.clock.callLater(0, fire, turn, None)
                await turn
                continue
            # The callback of an append may call close() when none is pending and the held ones are not sent yet.
            self.release()
            await self._adds.when_fewer(1)

    def append_many(
        self,
        payloads: Iterable[bytes],
        count: int,
        one: bool = False,
        deferred: Any = None,
        answer: Callable[[range], Any] = _ids,
    ) -> Promise[Any]:
        """Send entries as there is room; fires with the range of their ids, or with the id of the only ``one``.

        ``deferred`` is a promise to fire instead of a new one, ``answer`` makes of the range what it fires with.
        ``count`` is how many of the payloads that may be held back this call is counted for.
        """
        refused = self.refusal or self._adds.error
        if refused is not None:
            return self._failed(refused.again(), deferred)
        if self._held_count >= self._outstanding_max:
            too_many = TooManyOutstandingAdds(
                f"ledger {ledger_name(self._ledger_id)}: {self._adds.outstanding} appends are on their way and "
                f"{self._held_count} held back; wait for some, or "
                f"raise ClientConfig.outstanding_adds_max ({self._outstanding_max})"
            )
            return self._failed(too_many, deferred)
        self._look_at_length()
        self._send_gathered()
        held = HeldAppends(self._promise() if deferred is None else deferred, payloads, count, one, answer)
        # Reading the first payload may have closed the writer.
        refused = self.refusal or self._adds.error
        error = held.error or (refused and refused.again())
        if error is not None:
            return self._failed(error, deferred)
        if held.empty:
            first = self._next_entry_id + self._held_count
            held.deferred.callback(answer(range(first, first)))
            return held.deferred
        self._held.append(held)
        self._held_count += count
        self._entry_id_end = fields.FIRST_ENTRY_ID
        self._adds.on_progress = self.release
        self.release()
        return held.deferred

    def release(self) -> None:
        """Send appends held back, or fail them if this writer has failed."""
        self._send_gathered()
        adds = self._adds
        if adds.error is not None:
            failed, self._held_count = list(self._held), 0
            self._held.clear()
            adds.on_progress = None
            for held in failed:
                held.deferred.errback(adds.error.again())
            return
        if self.releasing:
            return
        self.releasing = True
        try:
            while self._held and adds.error is None:
                count = self._outstanding_max - adds.outstanding
                size = self._outstanding_bytes_max - adds.outstanding_bytes
                if count < self._worth_count or size < self._worth_size:
                    return
                self._send(self._held[0], min(count, RUN_COUNT_MAX), min(size, RUN_SIZE_MAX))
        finally:
            self.releasing = False
        if not self._held:
            adds.on_progress = None

    def _answer(self, entry_id: int) -> Any:
        return entry_id if self._answers is None else self._answers.one(entry_id)

    def _failed(self, error: BaseException, deferred: Any) -> Promise[Any]:
        if deferred is None:
            return self._driver.fail(error)
        deferred.errback(error)
        return deferred  # type: ignore[no-any-return]

    def _gathers(self) -> bool:
        """Return whether to gather the appends of this turn, from one that is about to come."""
        if self._at_once:
            self._at_once -= 1
            return False
        return self._adds.error is None and self._adds.before_send(self._send_gathered)

    def _send_gathered(self) -> None:
        """Send the appends of this turn, in runs."""
        if not self._gathered:
            return
        payloads, self._gathered = self._gathered, []
        waiting, self._gathered_deferreds = self._gathered_deferreds, []
        adds, count = self._adds, len(payloads)
        self._at_once = LONE_COUNT if count == 1 else 0
        first, length = self._next_entry_id - count, self._pushed_length - sum(map(len, payloads))
        entries = self._digest.seal_run(self._ledger_id, first, adds.last_add_confirmed, length, payloads)
        for start, end in _runs_of(entries):
            length += sum(map(len, payloads[start:end]))
            if end - start == 1:
                adds.push(first + start, entries[start], length, waiting[start], self._answer(first + start))
            else:
                adds.push_run(first + start, entries[start:end], length, None, None, waiting[start:end])

    def _find_room(self) -> bool:
        """Return whether an append may be sent at once, and note up to where that holds whatever happens."""
        self._look_at_length()
        if self._held or self.refusal is not None:
            return False
        entry_id, length = self._adds.acknowledged
        self._entry_id_end = entry_id + 1 + self._outstanding_max
        self._length_end = min(length + self._outstanding_bytes_max, self._told_length)
        return self._next_entry_id < self._entry_id_end and self._pushed_length < self._length_end

    def _look_at_length(self) -> None:
        if self._pushed_length >= self._told_length:
            self._told_length = inf
            self._reached()

    def _send(self, held: HeldAppends, count: int, size: int) -> None:
        """Send the next payloads of ``held``."""
        payloads = held.take(count, size)
        if self._adds.error is not None:
            return
        adds, first, before = self._adds, self._next_entry_id, self._pushed_length
        if held.first is None:
            held.first = first
        self._next_entry_id = first + len(payloads)
        self._pushed_length = before + sum(map(len, payloads))
        entries = self._digest.seal_run(self._ledger_id, first, adds.last_add_confirmed, before, payloads)
        deferred, result = None, None
        if held.empty:
            self._held.popleft()
            self._held_count -= held.count
            if held.error is None:
                last = first + len(payloads) - 1
                deferred, result = held.deferred, self._answer(last) if held.one else held.result(last)
        if self._takes_runs and len(entries) > 1:
            adds.push_run(first, entries, self._pushed_length, deferred, result)
        else:
            self._push_each(first, entries, payloads, before, deferred, result)
        if held.error is not None:
            held.deferred.errback(held.error)

    def _push_each(
        self,
        first: int,
        entries: Sequence[bytes],
        payloads: Sequence[bytes],
        length: int,
        deferred: Promise[Any] | None,
        result: Any,
    ) -> None:
        last = first + len(entries) - 1
        for entry_id, entry, payload in zip(range(first, last + 1), entries, payloads, strict=True):
            length += len(payload)
            is_last = entry_id == last
            self._adds.push(entry_id, entry, length, deferred if is_last else None, result)


def _runs_of(entries: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Yield where the runs that ``entries`` are sent as start and end."""
    start = size = 0
    for index, entry in enumerate(entries):
        if index > start and (size + len(entry) > RUN_SIZE_MAX or index - start == RUN_COUNT_MAX):
            yield start, index
            start, size = index, 0
        size += len(entry)
    if start < len(entries):
        yield start, len(entries)
