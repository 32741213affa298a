"""A metadata store in memory, as much of it as a stream asks for."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bookkeeper_tx.errors import BookieUnavailable, BookKeeperError, MetadataUnavailable, NoSuchLedger
from bookkeeper_tx.model import BookieServiceInfo, DigestType, Fragment, LedgerId, LedgerMetadata, Versioned
from bookkeeper_tx.spark.ledger_selection import SelectedLedger
from bookkeeper_tx.spark.stream_planning import LedgerEnd


class MemoryStore:
    """Ledgers by id; ``ends`` says how far those that are not closed can be read."""

    def __init__(self) -> None:
        self.ledgers: dict[int, LedgerMetadata | BookKeeperError] = {}
        self.ends: dict[int, int] = {}
        self.documents: dict[tuple[str, ...], bytes] = {}
        self.read: list[int] = []
        """The ledgers whose metadata were asked for."""
        self.fails = 0
        """How many more questions find nobody there."""
        self.opened = 0
        self.closed = 0

    def add(self, ledger_id: int, *, end: int = 0, closed: bool = False, length: int = 0, **custom: str) -> None:
        """Make a ledger, or change one."""
        metadata = LedgerMetadata(
            1,
            1,
            1,
            [Fragment(0, ["b:1"])],
            DigestType.CRC32C,
            password=None,
            custom_metadata={key: value.encode() for key, value in custom.items()},
        )
        self.ledgers[ledger_id] = metadata.with_close(end - 1, length) if closed else metadata
        self.ends[ledger_id] = end

    def ends_of_open(self, _: Any, ledgers: Sequence[SelectedLedger]) -> Iterable[LedgerEnd]:
        """Return what bookies would say."""
        return [LedgerEnd(each.ledger_id, self.ends[each.ledger_id], sealed=False) for each in ledgers]

    def open(self, uri: str, timeout_s: float) -> "MemoryStore":
        self.opened += 1
        return self

    # What the contract of a blocking store says ---------------------------------------------------------------------

    def close(self) -> None:
        self.closed += 1

    def list_ledgers(self, scope_id: int | None = 0) -> list[int]:
        self._answer()
        return sorted(each for each in self.ledgers if scope_id is None or LedgerId(each).scope_id == scope_id)

    def read_ledgers(self, ledger_ids: Iterable[int]) -> Iterator[tuple[int, Versioned | BookKeeperError]]:
        self._answer()
        for each in ledger_ids:
            self.read.append(each)
            found = self.ledgers.get(each, NoSuchLedger())
            yield each, found if isinstance(found, BookKeeperError) else Versioned(found, 0)

    def bookie_info(self, bookie_id: str) -> BookieServiceInfo:
        if bookie_id != "b:1":
            raise BookieUnavailable
        return BookieServiceInfo("127.0.0.1", 1)

    def read_document(self, path: tuple[str, ...]) -> bytes | None:
        self._answer()
        return self.documents.get(path)

    def create_document(self, path: tuple[str, ...], data: bytes) -> bool:
        return self.documents.setdefault(path, data) is data

    def list_documents(self, path: tuple[str, ...]) -> list[str]:
        self._answer()
        below = (each for each in self.documents if each[: len(path)] == path and len(each) > len(path))
        return sorted({each[len(path)] for each in below})

    def _answer(self) -> None:
        if self.fails:
            self.fails -= 1
            raise MetadataUnavailable
