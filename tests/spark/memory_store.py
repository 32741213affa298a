"""A metadata store in memory that changes while a stream looks at it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bookkeeper_tx.errors import BookKeeperError, MetadataUnavailable
from bookkeeper_tx.model import Versioned
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.plan.ledger_selection import SelectedLedger
from bookkeeper_tx.spark.stream.planning import LedgerEnd
from tests.spark.stores import StoreOfDict, closed_ledger, open_ledger


class MemoryStore(StoreOfDict):
    """Ledgers by id; ``ends`` says how far each open one can be read."""

    def __init__(self) -> None:
        super().__init__({})
        self.ends: dict[int, int] = {}
        self.entry_bytes = 0
        """Payload bytes of an entry of the open ledgers, if bookies know them."""
        self.read: list[int] = []
        """The ledgers whose metadata was asked for."""
        self.documents_read = 0
        self.fails = 0
        """How many more requests fail, as if the store could not be reached."""
        self.opened = 0
        self.closed = 0

    def add(self, ledger_id: int, *, end: int = 0, closed: bool = False, length: int = 0, **custom: str) -> None:
        """Create a ledger, or change one."""
        about = {"password": None, "custom_metadata": {key: value.encode() for key, value in custom.items()}}
        self.ledgers[ledger_id] = closed_ledger(end, length=length, **about) if closed else open_ledger(**about)
        self.ends[ledger_id] = end

    def ends_of_open(self, _: Any, ledgers: Sequence[SelectedLedger]) -> Iterable[LedgerEnd]:
        """Return the ends, as bookies would give them."""
        return [LedgerEnd(each.ledger_id, self.ends[each.ledger_id], False, self.entry_bytes) for each in ledgers]

    def open(self, options: Options) -> "MemoryStore":
        self.opened += 1
        return self

    def close(self) -> None:
        self.closed += 1

    def list_ledgers(self, scope_id: int | None = 0) -> list[int]:
        self._answer()
        return super().list_ledgers(scope_id)

    def read_ledgers(self, ledger_ids: Iterable[int]) -> Iterator[tuple[int, Versioned | BookKeeperError]]:
        self._answer()
        for each in ledger_ids:
            self.read.append(each)
            yield from super().read_ledgers([each])

    def read_document(self, path: tuple[str, ...]) -> bytes | None:
        self._answer()
        self.documents_read += 1
        return super().read_document(path)

    def create_document(self, path: tuple[str, ...], data: bytes) -> bool:
        return self.documents.setdefault(path, data) is data

    def list_documents(self, path: tuple[str, ...]) -> list[str]:
        self._answer()
        return super().list_documents(path)

    def _answer(self) -> None:
        if self.fails:
            self.fails -= 1
            raise MetadataUnavailable
