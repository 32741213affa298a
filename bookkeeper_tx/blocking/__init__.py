"""The client whose calls wait, for scripts and notebooks: ``from bookkeeper_tx.blocking import BookKeeper``."""

from bookkeeper_tx.blocking.client import BookKeeper
from bookkeeper_tx.blocking.handles import LedgerReader, LedgerWriter, LedgerWriterAdv

__all__ = ["BookKeeper", "LedgerReader", "LedgerWriter", "LedgerWriterAdv"]
