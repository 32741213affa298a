"""The client whose calls wait: for scripts and notebooks; loads no Twisted.

``from bookkeeper_tx.blocking import BookKeeper`` (docs/guides/blocking.md).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bookkeeper_tx.blocking.client import BookKeeper as BookKeeper
    from bookkeeper_tx.blocking.handles import LedgerReader as LedgerReader
    from bookkeeper_tx.blocking.handles import LedgerWriter as LedgerWriter
    from bookkeeper_tx.blocking.handles import LedgerWriterAdv as LedgerWriterAdv

__all__ = ["BookKeeper", "LedgerReader", "LedgerWriter", "LedgerWriterAdv"]


def __getattr__(name: str) -> Any:
    # Imported when it is used: its parts can be had without it.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.client"), name)
