"""bookkeeper_tx: Apache BookKeeper in Python on Twisted.

The public names, and nothing else.  Each is loaded when it is first used (PEP 562): a program that uses only the
blocking client never loads Twisted.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bookkeeper_tx.client.client import BookKeeper as BookKeeper
    from bookkeeper_tx.client.deferred_handles import LedgerReader as LedgerReader
    from bookkeeper_tx.client.deferred_handles import LedgerWriter as LedgerWriter
    from bookkeeper_tx.client.deferred_handles import LedgerWriterAdv as LedgerWriterAdv
    from bookkeeper_tx.client.ledger_entries import LedgerEntries as LedgerEntries
    from bookkeeper_tx.config import BookieConfig as BookieConfig
    from bookkeeper_tx.config import ClientConfig as ClientConfig
    from bookkeeper_tx.entry.digest import EntryDigest as EntryDigest
    from bookkeeper_tx.entry.entry_run import EntryRun as EntryRun
    from bookkeeper_tx.errors import BookKeeperError as BookKeeperError
    from bookkeeper_tx.model import DigestType as DigestType
    from bookkeeper_tx.model import Entry as Entry
    from bookkeeper_tx.model import Fragment as Fragment
    from bookkeeper_tx.model import LedgerId as LedgerId
    from bookkeeper_tx.model import LedgerMetadata as LedgerMetadata
    from bookkeeper_tx.model import LedgerState as LedgerState
    from bookkeeper_tx.security.sasl import SaslClient as SaslClient
    from bookkeeper_tx.security.tls_config import TlsConfig as TlsConfig
    from bookkeeper_tx.transport.blocking import BlockingChannel as BlockingChannel

_ROOMS = {
    "BookKeeper": "client.client",
    "LedgerEntries": "client.ledger_entries",
    "LedgerReader": "client.ledger_reader",
    "LedgerWriter": "client.ledger_writer",
    "LedgerWriterAdv": "client.ledger_writer_adv",
    "BookieConfig": "config",
    "ClientConfig": "config",
    "EntryDigest": "entry.digest",
    "EntryRun": "entry.entry_run",
    "BookKeeperError": "errors",
    "DigestType": "model",
    "Entry": "model",
    "Fragment": "model",
    "LedgerId": "model",
    "LedgerMetadata": "model",
    "LedgerState": "model",
    "SaslClient": "security.sasl",
    "TlsConfig": "security.tls_config",
    "BlockingChannel": "transport.blocking",
}

__all__ = sorted(_ROOMS)


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_ROOMS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS})
