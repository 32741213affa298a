"""Reading entries of a striped ledger: no bookie has a run of them, so each is read on its own, many at a time."""

from collections import deque
from collections.abc import Iterator

from attrs import define

from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE, EntryRun
from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.model import BookieId
from bookkeeper_tx.spark.reading.read_session import ReadSession
from bookkeeper_tx.spark.reading.replica_choice import ReplicaChoice
from bookkeeper_tx.spark.reading.verified_run import LostEntry, VerifiedRun
from bookkeeper_tx.transport.blocking import BlockingChannel, Token

RUN_SIZE = 1024 * 1024
"""A run of so many bytes is given out, even if more entries have come."""


@define(eq=False)
class _Asked:
    """One entry, and the bookies that it is asked of."""

    entry_id: int
    choice: ReplicaChoice
    bookie: BookieId = ""
    channel: BlockingChannel | None = None
    token: Token = 0
    entry: bytes | None = None
    """The bookie's copy, once it has come."""


def read_striped(session: ReadSession, first: int, last: int) -> Iterator[VerifiedRun | LostEntry]:
    """Read ``first`` … ``last``, which lie in one fragment, in order."""
    reads = _StripedReads(session, first, last)
    try:
        yield from reads.runs()
    finally:
        reads.forget()


class _StripedReads:
    """Keeps reads in flight, each at the first bookie of its entry's order; takes the entries in order."""

    def __init__(self, session: ReadSession, first: int, last: int) -> None:
        self._session = session
        self._next = first
        self._last = last
        self._asked: deque[_Asked] = deque()

    def runs(self) -> Iterator[VerifiedRun | LostEntry]:
        while self._asked or self._next <= self._last:
            self._ask_on()
            outcome = self._take(self._asked[0])
            if outcome is None:
                run = self._run_of_those_there()
                count = self._session.good_count(run)
                if count:
                    bookies = tuple(self._asked.popleft().bookie for _ in range(count))
                    yield self._session.verified(run, count, bookies)
                if count < run.count:
                    self._refuse(self._asked[0], run)
            else:
                self._asked.popleft()
                yield outcome

    def forget(self) -> None:
        """Drop the replies that are still to come."""
        for each in self._asked:
            if each.channel is not None:
                each.channel.forget((each.token,))

    def _ask_on(self) -> None:
        """Ask for more once half of the window has come, so that many requests are sent in one piece."""
        in_flight_max = self._session.estimate.singles_for(self._session.sizes)
        if self._next > self._last or len(self._asked) > in_flight_max // 2:
            return
        touched = set()
        while self._next <= self._last and len(self._asked) < in_flight_max:
            each = _Asked(self._next, ReplicaChoice(self._session.order(self._next)))
            self._asked.append(each)
            self._next += 1
            self._ask(each)
            touched.add(each.channel)
        for channel in touched:
            self._flush(channel)

    def _ask(self, each: _Asked) -> None:
        """Ask the next bookie for an entry, if there is one left that can be asked."""
        each.channel, each.entry = None, None
        while each.channel is None and (bookie := each.choice.next) is not None:
            self._session.channels.before_request(bookie)
            try:
                channel = self._session.channels.channel(bookie, self._session.ledger_id)
                each.token = channel.start_read(self._session.ledger_id, each.entry_id)
            except BookKeeperError as error:
                self._session.failed(bookie, error, each.choice)
            else:
                each.bookie, each.channel = bookie, channel

    def _flush(self, channel: BlockingChannel | None) -> None:
        try:
            if channel is not None:
                channel.flush()
        except BookKeeperError:
            # The error comes again for each entry that waits for a reply on this channel.
            pass

    def _take(self, each: _Asked) -> VerifiedRun | LostEntry | None:
        """Wait for the entry, and return None; if no bookie has it, return its substitute."""
        while each.entry is None:
            if each.channel is None:
                outcome = self._session.all_failed(each.entry_id, each.choice)
                if outcome is not None:
                    return outcome
                self._ask(each)
                continue
            try:
                each.entry = self._received(each, each.channel)
            except BookKeeperError as error:
                self._session.failed(each.bookie, error, each.choice)
                self._ask(each)
        return None

    def _received(self, each: _Asked, channel: BlockingChannel) -> bytes:
        """Wait until the entry has come, and return it; raises the error that the bookie answers."""
        entry = bytes(channel.result(each.token))
        self._session.channels.received(each.bookie, 1, len(entry))
        return entry

    def _run_of_those_there(self) -> EntryRun:
        """Return the entries from the first on, which has come, up to one that has not."""
        session, entries, size = self._session, [], 0
        for each in self._asked:
            if each.entry is None:
                if each.channel is None or not each.channel.done(each.token):
                    break
                try:
                    each.entry = self._received(each, each.channel)
                except BookKeeperError as error:
                    session.failed(each.bookie, error, each.choice)
                    self._ask(each)
                    break
            entries.append(each.entry)
            size += len(each.entry)
            if size >= RUN_SIZE:
                break
        run = _run_of(session.ledger_id, self._asked[0].entry_id, entries)
        session.estimate.learn(run)
        return run

    def _refuse(self, each: _Asked, run: EntryRun) -> None:
        """Ask the next bookie for an entry whose copy is bad."""
        error = self._session.mismatch(each.bookie, run, each.entry_id, each.choice)
        self._session.failed(each.bookie, error, each.choice)
        self._ask(each)


def _run_of(ledger_id: int, first_entry_id: int, entries: list[bytes]) -> EntryRun:
    run = EntryRun.of_entries(ledger_id, first_entry_id, entries)
    if len(set(map(len, entries))) == 1:
        run.offsets = range(0, run.offsets[-1] + 1, RECORD_LENGTH_SIZE + len(entries[0]))
    return run
