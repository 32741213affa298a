"""The manifest of a sink: the ledgers that each epoch has published, decided once and never changed.

An epoch is one micro-batch of a query, or one batch write.  Its documents stand in the metadata store under
``(sink id, query id, epoch // 1000, epoch)``, and each is created once and never changed or deleted::

    {"v":1,"published_ms":…,"ledgers":[[ledger id, last entry id, payload bytes],…]}     published
    {"v":1,"abandoned":[ledger id,…]}                                                    abandoned

Creating the document publishes the epoch, and is atomic.  Abandoning has to win a race: a sweeper must not delete
ledgers that a slow driver is just publishing.  So the sweeper creates the document itself, with the ledgers that it is
about to delete; a driver that later publishes one of these ledgers is refused.  An epoch that is written anew, with
other ledgers, goes on to the next document, ``epoch~1``, ``epoch~2``…: the first that is not abandoned is the epoch.
Every reader and writer walks them in this order.
"""

import json
import time
from collections.abc import Collection, Iterator, MutableMapping, Sequence
from itertools import count
from typing import NamedTuple

from bookkeeper_tx.errors import InvalidArgument, MetadataCorrupt, RemoteError
from bookkeeper_tx.metadata.blocking.store import BlockingStore
from bookkeeper_tx.metadata.documents import DOCUMENT_SIZE_MAX

FORMAT_VERSION = 1
EPOCHS_OF_NODE = 1000
"""Epochs below one node: ZooKeeper cannot list a million children of one node."""
ABANDONED_MAX = 40_000
"""Ledgers that one document abandons; so many ids of any size fit."""
_AGAIN = "~"


class EpochKey(NamedTuple):
    """Names one epoch of a sink."""

    query_id: str
    """Spark's id of a streaming query, which its checkpoint keeps; ``batch-<txnAppId>``, or ``job-<random>``."""
    epoch: int
    """The micro-batch, or ``txnVersion``; 0 for a batch write without one."""


class PublishedLedger(NamedTuple):
    """A closed ledger."""

    ledger_id: int
    last_entry_id: int
    length: int
    """Payload bytes."""


class EpochAbandoned(RemoteError):
    """The ledgers of this epoch were abandoned and deleted meanwhile: write it again."""


def publish(
    store: BlockingStore, sink_id: str, key: EpochKey, ledgers: Sequence[PublishedLedger]
) -> tuple[PublishedLedger, ...]:
    """Publish ``ledgers``, in this order, as the epoch; return its ledgers, others if it was published before.

    Raises EpochAbandoned when a sweeper has deleted one of them, and InvalidArgument when they are too many for one
    document.
    """
    document = {"v": FORMAT_VERSION, "published_ms": int(time.time() * 1000), "ledgers": ledgers}
    data = json.dumps(document, separators=(",", ":")).encode()
    if len(data) > DOCUMENT_SIZE_MAX:
        raise InvalidArgument(
            f"{len(ledgers)} ledgers in one epoch make a manifest of {len(data)} bytes, at most {DOCUMENT_SIZE_MAX} "
            "fit: write fewer partitions (coalesce) or raise maxLedgerBytes and maxLedgerEntries"
        )
    mine = {each.ledger_id for each in ledgers}
    for path in _paths(sink_id, key):
        if store.create_document(path, data):
            return tuple(ledgers)
        found = _read_existing(store, path)
        if not isinstance(found, frozenset):
            return found[1]
        if found & mine:
            raise EpochAbandoned(
                f"epoch {key.epoch} of {key.query_id}: ledgers {sorted(found & mine)} were older than the sweeper's "
                "grace and are deleted; nothing was published. Write the epoch again, and let the sweeper wait longer"
            )
    raise AssertionError("there is always another path")


def abandon(store: BlockingStore, sink_id: str, key: EpochKey, ledger_ids: Collection[int]) -> frozenset[int]:
    """Return which of ``ledger_ids`` may be deleted: those that the epoch has not published, and never will."""
    ids = sorted(frozenset(ledger_ids))
    parts = (ids[first : first + ABANDONED_MAX] for first in range(0, len(ids), ABANDONED_MAX))
    return frozenset[int]().union(*(_abandon(store, sink_id, key, frozenset(part)) for part in parts))


def _abandon(store: BlockingStore, sink_id: str, key: EpochKey, wanted: frozenset[int]) -> frozenset[int]:
    data = json.dumps({"v": FORMAT_VERSION, "abandoned": sorted(wanted)}, separators=(",", ":")).encode()
    unclaimed = wanted
    for path in _paths(sink_id, key):
        found = _read(store, path)
        if found is None:
            if store.create_document(path, data):
                return wanted
            found = _read_existing(store, path)
        if not isinstance(found, frozenset):
            return wanted - {each.ledger_id for each in found[1]}
        unclaimed -= found
        if not unclaimed:
            return wanted
    raise AssertionError("there is always another path")


def published(store: BlockingStore, sink_id: str, key: EpochKey) -> tuple[PublishedLedger, ...] | None:
    """Return the ledgers of an epoch in order, None if it is not published."""
    found = _published(store, sink_id, key)
    return None if found is None else found[1]


Published = tuple[int, tuple[PublishedLedger, ...]]
"""Time of publication in ms, and ledgers."""


def read_manifest(
    store: BlockingStore, sink_id: str, remembered: MutableMapping[EpochKey, Published] | None = None
) -> list[tuple[EpochKey, tuple[PublishedLedger, ...]]]:
    """Return the epochs of a sink and their ledgers: queries in the order of their first publication, epochs by number.

    The list has an item for each epoch.  An epoch costs one request to the metadata store, unless it is among the
    ``remembered``: it never changes, so a caller that reads again and again passes the same mapping each time.
    """
    remembered = {} if remembered is None else remembered
    queries: list[tuple[int, str, list[tuple[EpochKey, tuple[PublishedLedger, ...]]]]] = []
    for query_id in store.list_documents((sink_id,)):
        epochs, first_ms = [], 0
        for key in _epochs(store, sink_id, query_id):
            found = remembered.get(key) or _published(store, sink_id, key)
            if found is not None:
                remembered[key] = found
                first_ms = first_ms or found[0]
                epochs.append((key, found[1]))
        queries.append((first_ms, query_id, epochs))
    return [epoch for _, _, epochs in sorted(queries, key=lambda query: query[:2]) for epoch in epochs]


def check_sink_id(sink_id: str) -> str:
    """Return ``sink_id`` if it is a valid name of a sink; raises InvalidArgument."""
    if not sink_id.strip() or len(sink_id) > 200:
        raise InvalidArgument(f"sinkId {sink_id!r}: give the sink a name of 1 to 200 characters")
    return sink_id


def _paths(sink_id: str, key: EpochKey) -> Iterator[tuple[str, ...]]:
    """Yield the paths of an epoch's documents, in the order in which they count."""
    node = (sink_id, key.query_id, str(key.epoch // EPOCHS_OF_NODE))
    yield (*node, str(key.epoch))
    for again in count(1):
        yield (*node, f"{key.epoch}{_AGAIN}{again}")


def _epochs(store: BlockingStore, sink_id: str, query_id: str) -> Iterator[EpochKey]:
    node = (sink_id, query_id)
    for thousand in sorted(store.list_documents(node), key=int):
        names = store.list_documents((*node, thousand))
        for epoch in sorted(int(name) for name in names if _AGAIN not in name):
            yield EpochKey(query_id, epoch)


def _published(store: BlockingStore, sink_id: str, key: EpochKey) -> Published | None:
    for path in _paths(sink_id, key):
        found = _read(store, path)
        if not isinstance(found, frozenset):
            return found
    raise AssertionError("there is always another path")


_Document = frozenset[int] | Published
"""The ids in a document that abandons, or the content of one that publishes."""


def _read_existing(store: BlockingStore, path: tuple[str, ...]) -> _Document:
    found = _read(store, path)
    if found is None:
        raise MetadataCorrupt(f"manifest {'/'.join(path)} is gone, but documents of manifests are never deleted")
    return found


def _read(store: BlockingStore, path: tuple[str, ...]) -> _Document | None:
    data = store.read_document(path)
    if data is None:
        return None
    try:
        document = json.loads(data)
        if document["v"] != FORMAT_VERSION:
            raise MetadataCorrupt(
                f"manifest {'/'.join(path)}: version {document['v']} is not known here, only {FORMAT_VERSION}: update"
            )
        if "abandoned" in document:
            return frozenset(map(int, document["abandoned"]))
        return int(document["published_ms"]), tuple(PublishedLedger(*map(int, each)) for each in document["ledgers"])
    except (ValueError, KeyError, TypeError) as error:
        raise MetadataCorrupt(f"manifest {'/'.join(path)} cannot be understood: {error!r}") from error
