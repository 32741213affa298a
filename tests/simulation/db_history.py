"""Histories of a bookie with DbLedgerStorage: its indexes are in databases, doubles of RocksDB on the same disk."""

from tests.simulation.bookie_history import BookieHistory


class DbHistory(BookieHistory):
    """All else is as with index files."""

    settings = {"ledger_storage_class": "DbLedgerStorage"}
