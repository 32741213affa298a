"""The lists of the entries that one bookie stores, read without a reactor (docs/protocol/list-entries.md)."""

from collections import deque
from collections.abc import Iterable, Iterator

from attrs import evolve

from bookkeeper_tx.config import ClientConfig, WireProtocol
from bookkeeper_tx.entry.entry_list import EntryList
from bookkeeper_tx.errors import BookKeeperError, ProtocolViolation
from bookkeeper_tx.protocol.client.requests.list_entries import ListEntries
from bookkeeper_tx.transport.blocking import BlockingChannel, Token

IN_FLIGHT = 32
"""Lists asked for at once: our bookie refuses more when 64 wait, from all clients together."""


class EntryListChannel(BlockingChannel):
    """A connection to a bookie for lists of entries only: in V3, since V2 has no such request.

    A release that does not know the request closes the connection, and Java's DbLedgerStorage, which cannot list, does
    not answer.
    """

    def __init__(self, host: str, port: int, config: ClientConfig | None = None) -> None:
        super().__init__(host, port, evolve(config or ClientConfig(), protocol=WireProtocol.V3))

    def list_entries(
        self, ledger_ids: Iterable[int], *, one_by_one: bool = False
    ) -> Iterator[tuple[int, EntryList | BookKeeperError]]:
        """Yield, in the order asked, each ledger's id and its list, or the error that the bookie answers.

        With ``one_by_one`` each request is sent when its id is taken, and not together with later ones.

        The error is NoSuchLedger for a ledger of which the bookie stores nothing.  Raises BookieUnavailable,
        RequestTimedOut and ProtocolViolation; the channel is closed then.
        """
        asked: deque[tuple[int, Token]] = deque()
        try:
            for ledger_id in ledger_ids:
                asked.append((ledger_id, self.start(ListEntries(ledger_id))))
                if one_by_one:
                    self.flush()
                if len(asked) >= IN_FLIGHT:
                    yield self._taken(*asked.popleft())
            while asked:
                yield self._taken(*asked.popleft())
        finally:
            self.forget([token for _, token in asked])

    def _taken(self, ledger_id: int, token: Token) -> tuple[int, EntryList | BookKeeperError]:
        try:
            return ledger_id, self.result(token)
        except BookKeeperError as error:
            if self.closed or isinstance(error, ProtocolViolation):
                raise
            return ledger_id, error
