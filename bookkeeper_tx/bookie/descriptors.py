"""File descriptors: as many as the system allows, and enough of them kept for files."""

import resource
from typing import Final

from attrs import evolve
from twisted.logger import Logger

from bookkeeper_tx.bookie.rocks_db_opening import DATABASES_MAX, OPEN_TABLES_MIN
from bookkeeper_tx.config import BookieConfig

LIMIT_MAX: Final = 1024 * 1024
"""More are not asked for: where there is no limit, a system may have none that ends."""

RESERVED: Final = 128
"""Descriptors for the journal, entry logs, directories, the metadata store, the reactor and the log."""

STORAGE_RESERVED: Final = 32
"""As many more for each further storage: its entry logs, its directories, and the logs and locks of its databases."""

INDEX_SHARE: Final = 4
"""Index files may take one in so many of the other descriptors."""

log = Logger()


def raise_limit() -> int:
    """Raise the limit of this process as far as the system allows, and return it."""
    limit, allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = LIMIT_MAX if allowed == resource.RLIM_INFINITY else min(allowed, LIMIT_MAX)
    if limit != resource.RLIM_INFINITY and limit < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, allowed))
        except (OSError, ValueError) as error:
            log.warn("cannot raise the limit of {limit} file descriptors: {error}", limit=limit, error=error)
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return LIMIT_MAX if limit == resource.RLIM_INFINITY else limit


def shared_out(config: BookieConfig, limit: int) -> BookieConfig:
    """Return the configuration with as many connections and open index files as ``limit`` descriptors allow."""
    count = len(config.ledger_directories) if config.ledger_storage_class == "DbLedgerStorage" else 0
    free = max(limit - RESERVED - STORAGE_RESERVED * max(count - 1, 0), 2 * INDEX_SHARE)
    files = min(config.open_index_files_max, free // INDEX_SHARE)
    taken = max(files, count * DATABASES_MAX * OPEN_TABLES_MIN)  # that of RocksDB has a lower limit
    connections = min(config.connections_max, max(free - taken, INDEX_SHARE))
    if (files, connections) == (config.open_index_files_max, config.connections_max):
        return config
    log.warn(
        "{limit} file descriptors are enough for {connections} connections and {files} open index files only; "
        "raise the limit (ulimit -n)",
        limit=limit,
        connections=connections,
        files=files,
    )
    return evolve(config, open_index_files_max=files, connections_max=connections)
