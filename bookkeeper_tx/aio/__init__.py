"""The client for asyncio: ``from bookkeeper_tx.aio import BookKeeper`` (docs/guides/asyncio.md); loads no Twisted."""

from bookkeeper_tx.aio.client import BookKeeper
from bookkeeper_tx.aio.handles import LedgerReader, LedgerWriter, LedgerWriterAdv

__all__ = ["BookKeeper", "LedgerReader", "LedgerWriter", "LedgerWriterAdv"]
