"""A BlockingStore in memory, whose requests tests can make fail."""

from collections.abc import Callable, Iterable, Iterator

from bookkeeper_tx.errors import LedgerExists, MetadataConflict, NoSuchLedger
from bookkeeper_tx.model import BookieId, BookieServiceInfo, LedgerMetadata, Versioned


class MemoryStore:
    """Tests may look into ``ledgers`` and ``documents``; ``before`` is called with the name of each request."""

    def __init__(self, writable: Iterable[BookieId] = ()) -> None:
        self.ledgers: dict[int, Versioned] = {}
        self.documents: dict[tuple[str, ...], bytes] = {}
        self.writable = set(writable)
        self.before: Callable[[str], None] = lambda request: None
        self.after: Callable[[str], None] = lambda request: None
        self._next_id = 0

    def __enter__(self) -> "MemoryStore":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def instance_id(self) -> str | None:
        return None

    def list_ledgers(self, scope_id: int | None = 0) -> list[int]:
        return sorted(self.ledgers)

    def read_ledger(self, ledger_id: int) -> Versioned:
        self.before("read_ledger")
        if ledger_id not in self.ledgers:
            raise NoSuchLedger
        return self.ledgers[ledger_id]

    def read_ledgers(self, ledger_ids: Iterable[int]) -> Iterator[tuple[int, Versioned | NoSuchLedger]]:
        for ledger_id in ledger_ids:
            yield ledger_id, self.ledgers.get(ledger_id) or NoSuchLedger()

    def create_ledger(self, ledger_id: int, metadata: LedgerMetadata) -> Versioned:
        self.before("create_ledger")
        if ledger_id in self.ledgers:
            raise LedgerExists
        self.ledgers[ledger_id] = Versioned(metadata, 0)
        return self.ledgers[ledger_id]

    def write_ledger(self, ledger_id: int, metadata: LedgerMetadata, version: int) -> Versioned:
        self.before("write_ledger")
        if self.read_ledger(ledger_id).version != version:
            raise MetadataConflict
        self.ledgers[ledger_id] = Versioned(metadata, version + 1)
        return self.ledgers[ledger_id]

    def delete_ledger(self, ledger_id: int) -> None:
        self.before("delete_ledger")
        if self.ledgers.pop(ledger_id, None) is None:
            raise NoSuchLedger

    def new_ledger_id(self) -> int:
        self._next_id += 1
        return self._next_id - 1

    def writable_bookies(self) -> frozenset[BookieId]:
        return frozenset(self.writable)

    def read_only_bookies(self) -> frozenset[BookieId]:
        return frozenset()

    def cookie_bookies(self) -> frozenset[BookieId]:
        return frozenset(self.writable)

    def bookie_info(self, bookie_id: BookieId) -> BookieServiceInfo:
        return BookieServiceInfo("127.0.0.1", 0)

    def create_document(self, path: tuple[str, ...], data: bytes) -> bool:
        self.before("create_document")
        created = self.documents.setdefault(path, data) is data
        self.after("create_document")
        return created

    def read_document(self, path: tuple[str, ...]) -> bytes | None:
        self.before("read_document")
        return self.documents.get(path)

    def list_documents(self, path: tuple[str, ...]) -> list[str]:
        depth = len(path)
        return sorted({each[depth] for each in self.documents if each[:depth] == path and len(each) > depth})

    def delete_document(self, path: tuple[str, ...]) -> None:
        self.documents.pop(path, None)
