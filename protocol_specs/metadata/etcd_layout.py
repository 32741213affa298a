"""The keys of a cluster in etcd, as Java's driver has them, and those of ours beside them.

All names are relative to the cluster's scope, the path of its metadata URI with its slash: ``/ledgers`` in
``etcd://host:2379/ledgers``.  Keys are UTF-8.
"""

import re
from uuid import UUID

from protocol_specs import ledger_id as ids

LAYOUT = "layout"
"""``LAYOUT_RECORD`` of ``layout.py``, with FACTORY_CLASS and MANAGER_VERSION."""

INSTANCE_ID = "instanceid"
"""A UUID as text, without newline."""

COOKIES = "cookies"
"""Below it a key for every bookie that ever registered."""

BOOKIES = "bookies"
WRITABLE = "bookies/writable"
"""Below it a key for each writable bookie, with the bookie's lease."""

READ_ONLY = "bookies/readonly"
"""The same for read-only bookies."""

LEDGERS = "ledgers"
"""Below it a key for each ledger: the 128 bits of its id, scope first, as the text of a UUID."""

BUCKETS = "buckets"
"""Below it 128 keys, three digits each, that hand out ids: each is set again and again, without a value."""

UNDER_REPLICATION = "underreplication"
"""Nothing is below it of Java's: its driver has no auto-recovery."""

MARKERS = ("", COOKIES, BOOKIES, WRITABLE, READ_ONLY, LEDGERS, BUCKETS, UNDER_REPLICATION)
"""The keys without a value that a new cluster has; "" is the scope itself, by which Java knows that there is one."""

DOCUMENTS = "spark-sinks"
"""Below it a key for each document that Spark sinks have published; ours."""

NAMED_RECORDS = "records"
"""Below it a key for each named record; ours."""

REPLICATION_LOCKS = "underreplication/locks"
"""Below it a key, with its holder's lease, for each ledger that somebody copies; ours."""

FACTORY_CLASS = b"org.apache.bookkeeper.metadata.etcd.EtcdLedgerManagerFactory"
MANAGER_VERSION = b"0"

BUCKET_SHIFT = 56
"""An id is the number of its bucket, and below it in 56 bits how often the bucket's key has been set."""

END = "0"
"""Comes after "/": keys below K are those from ``K/`` up to ``K0``."""

_LEDGER_NAME = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SCOPE_0_END = 2**63
"""In scope 0 an id is not negative."""


def ledger_name(ledger_id: int) -> str:
    """Return the name of a ledger's key below LEDGERS."""
    return str(UUID(int=ledger_id))


def ledger_id_of(name: str) -> int | None:
    """Return the id of the ledger whose key has this name, None if it is no such name."""
    if _LEDGER_NAME.fullmatch(name) is None:
        return None
    ledger_id = int(name.replace("-", ""), 16)
    return None if _SCOPE_0_END <= ledger_id < ids.SCOPED_MIN else ledger_id
