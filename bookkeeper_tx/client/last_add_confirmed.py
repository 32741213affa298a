"""Finding the last add confirmed of a ledger that is not closed, from a covering set of its last ensemble."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from bookkeeper_tx.client.channel import Channel
from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.client.last_entries import LastEntries, LastEntryAnswers
from bookkeeper_tx.driver import Promise
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import BookKeeperError, DigestMismatch, NoSuchEntry, StorageFailed
from bookkeeper_tx.model import Fragment
from bookkeeper_tx.protocol.client.requests.last_add_confirmed import ReadLastAddConfirmed
from bookkeeper_tx.quorums.quorum import Quorum
from protocol_specs import fields
from protocol_specs.wire.operations import Flag


class LastEntriesRead:
    """Asks every bookie of the last ensemble for its last entry; ``deferred`` fires with :class:`LastEntries`.

    With ``fence`` each bookie is fenced first.  With ``explicit`` the explicit last add confirmed is asked for as well
    (over V3).
    """

    def __init__(
        self,
        context: ClientContext,
        ledger_id: int,
        fragment: Fragment,
        quorum: Quorum,
        digest: EntryDigest,
        *,
        fence: bool = False,
        explicit: bool = False,
    ) -> None:
        self._channels: Sequence[Channel] = [context.channel(each, ledger_id) for each in fragment.ensemble]
        self._quarantine = context.bookies.quarantine
        self._answers = LastEntryAnswers(ledger_id, fragment.ensemble, quorum, digest)
        self._master_key = digest.master_key
        self._fence = fence
        self._explicit = explicit
        self.deferred: Promise[LastEntries] = context.driver.promise()

    def start(self) -> "Promise[LastEntries]":
        """Send the requests."""
        ledger_id = self._answers.ledger_id
        for index, channel in enumerate(self._channels):
            done = partial(self._replied, index)
            if self._fence:
                channel.read_entry(ledger_id, fields.LAST_ENTRY, done, flags=Flag.FENCING, master_key=self._master_key)
            elif self._explicit:
                channel.send(ReadLastAddConfirmed(ledger_id), partial(self._explicit_replied, index))
            else:
                channel.read_entry(ledger_id, fields.LAST_ENTRY, done)
        return self.deferred

    def _replied(self, index: int, error: BookKeeperError | None, entry: Any) -> None:
        if error is None:
            try:
                self._answers.learn_entry(entry)
            except DigestMismatch as mismatch:
                error = mismatch
        self._count(index, error)

    def _explicit_replied(self, index: int, error: BookKeeperError | None, value: Any) -> None:
        if isinstance(error, (StorageFailed, NoSuchEntry)) and value is not None and value[0] is not None:
            # A bookie answers so if it has an explicit last add confirmed and no entry.
            error = None
        if error is None:
            body, entry = value
            try:
                if body is not None:
                    self._answers.learn_explicit(body)
                if entry is not None:
                    self._answers.learn_entry(entry)
            except DigestMismatch as mismatch:
                error = mismatch
        self._count(index, error)

    def _count(self, index: int, error: BookKeeperError | None) -> None:
        if self.deferred.called:
            return
        answers = self._answers
        answers.count(index, error)
        if error is not None:
            self._quarantine(answers.ensemble[index], error)
        if answers.decided:
            outcome = answers.outcome()
            if isinstance(outcome, BookKeeperError):
                self.deferred.errback(outcome)
            else:
                self.deferred.callback(outcome)
