"""The last add confirmed of ledgers that are not closed, as their bookies know it."""

from collections.abc import Iterator, Sequence

from attrs import define, frozen

from bookkeeper_tx.client.last_entries import LastEntryAnswers
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import NO_ANSWER, BookKeeperError
from bookkeeper_tx.model import BookieId, LedgerMetadata
from bookkeeper_tx.quorums.quorum import Quorum
from bookkeeper_tx.spark.bookies.bookie_channels import BookieChannels
from bookkeeper_tx.transport.blocking import BlockingChannel, Token
from protocol_specs import fields

ASKED_AT_ONCE = 500
"""Ledgers that are asked for together: each answer brings an entry, which may be as large as a frame."""

LOSSES_MAX = 2
"""After so many lost connections a bookie is not asked any more, so that one that hangs costs two time-outs."""


@frozen
class OpenLedger:
    """A ledger whose end is asked for."""

    ledger_id: int
    metadata: LedgerMetadata
    digest: EntryDigest


@frozen
class LastConfirmed:
    """How far readers may read, and the size of the ledger according to the newest entry that was seen."""

    entry_id: int
    """The last add confirmed; -1 if no add is."""
    newest_entry_id: int = fields.NO_ENTRY
    """-1 if no bookie of the last fragment has an entry."""
    length: int = 0
    """Payload bytes of the ledger up to and including the newest entry."""


def last_add_confirmed(channels: BookieChannels, ledger_id: int, metadata: LedgerMetadata, digest: EntryDigest) -> int:
    """Return the highest last add confirmed that a covering set of the bookies of the last fragment knows.

    -1 if no add is confirmed.  Does not fence.  Raises BookieUnavailable, or the error of the bookies if they all
    answered the same, when too few of them gave a good answer; Unauthorized if one of them answers that.
    """
    (found,) = last_adds_confirmed(channels, [OpenLedger(ledger_id, metadata, digest)])
    if isinstance(found, BookKeeperError):
        raise found
    return found.entry_id


def last_adds_confirmed(
    channels: BookieChannels, ledgers: Sequence[OpenLedger]
) -> Iterator[LastConfirmed | BookKeeperError]:
    """Yield, for each of ``ledgers`` in their order, its end or the error that :func:`last_add_confirmed` raises.

    Many are asked for at once, over one connection to each bookie.  If one request costs the connection, the requests
    after it are sent again over another one.
    """
    losses: dict[BookieId, list[BookKeeperError]] = {}
    for first in range(0, len(ledgers), ASKED_AT_ONCE):
        asked = [(each, _answers_about(each)) for each in ledgers[first : first + ASKED_AT_ONCE]]
        questions = [_Question(each, index) for _, each in asked for index in range(len(each.ensemble))]
        while questions:
            questions = _Round(channels, losses).ask(questions)
        for ledger, answers in asked:
            yield _end_of(ledger, answers)


def _answers_about(ledger: OpenLedger) -> LastEntryAnswers:
    metadata = ledger.metadata
    return LastEntryAnswers(ledger.ledger_id, metadata.last_fragment.ensemble, Quorum.of(metadata), ledger.digest)


def _end_of(ledger: OpenLedger, answers: LastEntryAnswers) -> LastConfirmed | BookKeeperError:
    found = answers.outcome()
    if isinstance(found, BookKeeperError):
        return found
    # A fragment starts after the last add confirmed of its time.
    confirmed = max(found.last_add_confirmed, ledger.metadata.last_fragment.first_entry_id - 1)
    return LastConfirmed(confirmed, *max(found.lengths.items(), default=(fields.NO_ENTRY, 0)))


@define(eq=False)
class _Question:
    """The question to one bookie about one ledger."""

    answers: LastEntryAnswers
    index: int
    """The bookie's index in the ensemble."""
    channel: BlockingChannel | None = None
    token: Token = 0

    @property
    def bookie(self) -> BookieId:
        return self.answers.ensemble[self.index]


class _Round:
    """Questions sent together."""

    def __init__(self, channels: BookieChannels, losses: dict[BookieId, list[BookKeeperError]]) -> None:
        self._channels = channels
        self._losses = losses
        """The errors of connections to bookies that were lost, or not made, in this round and before."""
        self._lost: set[int] = set()
        """Channels, by identity, that were lost in this round."""

    def ask(self, questions: list[_Question]) -> list[_Question]:
        """Send all questions and take all answers; return those whose connection another question has cost them."""
        used: dict[int, BlockingChannel] = {}
        for each in questions:
            self._send(each)
            if each.channel is not None:
                used[id(each.channel)] = each.channel
        for channel in used.values():
            try:
                channel.flush()
            except BookKeeperError:
                # `_settle` gets the error for each question on this channel.
                continue
        return [each for each in questions if each.channel is not None and not self._settle(each, each.channel)]

    def _send(self, question: _Question) -> None:
        """Send the question, if the bookie can be asked; otherwise the question has no channel."""
        bookie, ledger_id = question.bookie, question.answers.ledger_id
        question.channel = None
        losses = self._losses.get(bookie, [])
        if len(losses) >= LOSSES_MAX:
            question.answers.count(question.index, losses[-1])
            return
        try:
            channel = self._channels.channel(bookie, ledger_id)
        except BookKeeperError as error:
            # It will not be reachable for the next ledger either.
            self._losses[bookie] = [error] * LOSSES_MAX
            self._failed(question, error)
            return
        try:
            question.token = channel.start_read(ledger_id, fields.LAST_ENTRY)
        except BookKeeperError as error:
            self._failed(question, error)
        else:
            question.channel = channel

    def _settle(self, question: _Question, channel: BlockingChannel) -> bool:
        """Take the answer; return False if the question must be sent again."""
        answers, bookie = question.answers, question.bookie
        if id(channel) in self._lost and not channel.done(question.token):
            channel.forget((question.token,))
            return False
        try:
            answers.learn_entry(bytes(channel.result(question.token)))
        except BookKeeperError as error:
            if isinstance(error, NO_ANSWER):
                self._lost.add(id(channel))
                self._losses.setdefault(bookie, []).append(error)
            self._failed(question, error)
        else:
            answers.count(question.index, None)
        return True

    def _failed(self, question: _Question, error: BookKeeperError) -> None:
        question.answers.count(question.index, error)
        self._channels.failed(question.bookie, error)
