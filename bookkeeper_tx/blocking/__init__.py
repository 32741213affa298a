"""The client without a reactor: for scripts, notebooks and Spark executors; loads no Twisted.

``from bookkeeper_tx.blocking import BookKeeper`` (docs/guides/blocking.md).
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bookkeeper_tx.blocking.client import BookKeeper as BookKeeper

__all__ = ["BookKeeper"]


def __getattr__(name: str) -> Any:
    # Imported when it is used: what reads for Spark needs no event loop.
    if name != "BookKeeper":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from bookkeeper_tx.blocking.client import BookKeeper

    return BookKeeper
