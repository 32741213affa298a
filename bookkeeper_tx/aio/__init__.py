"""The client for asyncio: ``from bookkeeper_tx.aio import BookKeeper`` (docs/guides/asyncio.md); loads no Twisted."""

from bookkeeper_tx.aio.client import BookKeeper

__all__ = ["BookKeeper"]
