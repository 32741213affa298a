"""A metadata store that is a dictionary."""

from collections.abc import Iterable, Iterator
from typing import Any

from attrs import evolve

from bookkeeper_tx.errors import BookieUnavailable, BookKeeperError, NoSuchLedger
from bookkeeper_tx.model import (
    BookieId,
    BookieServiceInfo,
    DigestType,
    Fragment,
    LedgerId,
    LedgerMetadata,
    LedgerState,
    Versioned,
)
from protocol_specs.metadata.bookie import LEDGER_SCOPE_ID


def closed_ledger(entry_count: int, **more: Any) -> LedgerMetadata:
    """Return the metadata of a closed ledger on one bookie, of 10 bytes an entry."""
    metadata = LedgerMetadata(1, 1, 1, [Fragment(0, ("bookie:3181",))], DigestType.CRC32C)
    return evolve(metadata.with_close(entry_count - 1, 10 * entry_count), **more)


def open_ledger(**more: Any) -> LedgerMetadata:
    """Return the metadata of an open ledger on one bookie."""
    return closed_ledger(0, state=LedgerState.OPEN, **more)


class StoreOfDict:
    """The part of a BlockingStore that planning a read needs."""

    def __init__(self, ledgers: dict[int, LedgerMetadata | BookKeeperError], listed: Iterable[int] = ()) -> None:
        self.ledgers = ledgers
        self.also_listed = list(listed)
        """Ledgers that are listed, and gone when they are read."""
        self.documents: dict[tuple[str, ...], bytes] = {}

    def __enter__(self) -> "StoreOfDict":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def list_ledgers(self, scope_id: int | None = 0) -> list[int]:
        ids = [*self.ledgers, *self.also_listed]
        return sorted(each for each in ids if scope_id in (None, LedgerId(each).scope_id))

    def read_ledgers(self, ledger_ids: Iterable[int]) -> Iterator[tuple[int, Versioned | BookKeeperError]]:
        for each in ledger_ids:
            found = self.ledgers.get(each, NoSuchLedger())
            yield each, Versioned(found, 1) if isinstance(found, LedgerMetadata) else found

    def bookie_info(self, bookie_id: BookieId) -> BookieServiceInfo:
        if "down" in bookie_id:
            raise BookieUnavailable(f"bookie {bookie_id} is not registered")
        extensions = frozenset({LEDGER_SCOPE_ID} if "scopes" in bookie_id else ())
        return BookieServiceInfo("10.0.0.1", 3181, extensions=extensions)

    def read_document(self, path: tuple[str, ...]) -> bytes | None:
        return self.documents.get(path)

    def list_documents(self, path: tuple[str, ...]) -> list[str]:
        return sorted(
            {each[len(path)] for each in self.documents if each[: len(path)] == path and len(each) > len(path)}
        )
