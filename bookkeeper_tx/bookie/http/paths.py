"""Which endpoint has which path: those of Java 4.18, autorecovery's left out."""

from collections.abc import Callable, Coroutine
from typing import Any, Final

from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import Answer
from bookkeeper_tx.bookie.http.call import Call
from bookkeeper_tx.bookie.http.cluster_info import cluster_info
from bookkeeper_tx.bookie.http.delete_ledger import delete_ledger
from bookkeeper_tx.bookie.http.entry_location_compact import entry_location_compact
from bookkeeper_tx.bookie.http.expand_storage import expand_storage
from bookkeeper_tx.bookie.http.gc import gc
from bookkeeper_tx.bookie.http.gc_details import gc_details
from bookkeeper_tx.bookie.http.heartbeat import heartbeat
from bookkeeper_tx.bookie.http.info import info
from bookkeeper_tx.bookie.http.is_ready import is_ready
from bookkeeper_tx.bookie.http.last_log_mark import last_log_mark
from bookkeeper_tx.bookie.http.ledger_metadata import ledger_metadata
from bookkeeper_tx.bookie.http.list_bookie_info import list_bookie_info
from bookkeeper_tx.bookie.http.list_bookies import list_bookies
from bookkeeper_tx.bookie.http.list_disk_file import list_disk_file
from bookkeeper_tx.bookie.http.list_ledgers import list_ledgers
from bookkeeper_tx.bookie.http.metrics import metrics
from bookkeeper_tx.bookie.http.read_ledger import read_ledger
from bookkeeper_tx.bookie.http.resume_compaction import resume_compaction
from bookkeeper_tx.bookie.http.sanity import sanity
from bookkeeper_tx.bookie.http.server_config import server_config
from bookkeeper_tx.bookie.http.state import state
from bookkeeper_tx.bookie.http.state_readonly import state_readonly
from bookkeeper_tx.bookie.http.suspend_compaction import suspend_compaction

Endpoint = Callable[[Call, Administered], Coroutine[Any, Any, Answer]]
"""Answers a request.  Raises Refused, or any BookKeeperError, which is answered with 500."""

PATHS: Final[dict[str, Endpoint]] = {
    "/heartbeat": heartbeat,
    "/metrics": metrics,
    "/api/v1/config/server_config": server_config,
    "/api/v1/ledger/delete": delete_ledger,
    "/api/v1/ledger/list": list_ledgers,
    "/api/v1/ledger/metadata": ledger_metadata,
    "/api/v1/ledger/read": read_ledger,
    "/api/v1/bookie/list_bookies": list_bookies,
    "/api/v1/bookie/list_bookie_info": list_bookie_info,
    "/api/v1/bookie/last_log_mark": last_log_mark,
    "/api/v1/bookie/list_disk_file": list_disk_file,
    "/api/v1/bookie/expand_storage": expand_storage,
    "/api/v1/bookie/gc": gc,
    "/api/v1/bookie/gc_details": gc_details,
    "/api/v1/bookie/gc/suspend_compaction": suspend_compaction,
    "/api/v1/bookie/gc/resume_compaction": resume_compaction,
    "/api/v1/bookie/state": state,
    "/api/v1/bookie/state/readonly": state_readonly,
    "/api/v1/bookie/sanity": sanity,
    "/api/v1/bookie/is_ready": is_ready,
    "/api/v1/bookie/info": info,
    "/api/v1/bookie/cluster_info": cluster_info,
    "/api/v1/bookie/entry_location_compact": entry_location_compact,
}

LARGE: Final[frozenset[Endpoint]] = frozenset({list_ledgers, read_ledger, list_disk_file, sanity})
"""Those whose answers may be large, or take much to make: few at once are carried out."""

CHANGING_GETS: Final[frozenset[Endpoint]] = frozenset({sanity})
"""Those that change something when they are asked with GET."""
