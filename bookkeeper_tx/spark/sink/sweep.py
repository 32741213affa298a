"""The sweeper: deletes ledgers that a sink has written and no manifest names.

Failed, killed, speculative and repeated attempts leave such ledgers.  A ledger is deleted when its epoch is published
without it, or when it is older than a grace time and its epoch is not published.  Before that the sweeper abandons it
in the manifest (``abandon`` of ``bookkeeper_tx.spark.sink.manifest``), so that a driver that is only slow is refused
and publishes no ledger that is gone.  So the grace time protects work in progress, not correctness: set it longer than
a micro-batch or a batch write takes.  A published ledger is never deleted.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import partial

from attrs import evolve, field, frozen

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import BookKeeperError, NoSuchLedger
from bookkeeper_tx.metadata.blocking.store import BlockingStore, open_blocking_store
from bookkeeper_tx.model import DigestType, LedgerMetadata, LedgerState, Versioned
from bookkeeper_tx.security.metadata_security import MetadataSecurity
from bookkeeper_tx.spark.bookies.recover import recover_ledgers
from bookkeeper_tx.spark.sink.manifest import EpochKey, abandon, published
from bookkeeper_tx.spark.sink.mark import SinkMark

GRACE_S = 24 * 3600.0
RECOVER_TIMEOUT_S = 300.0

_Sink = tuple[str, EpochKey]


class Reason(Enum):
    """Why a ledger is a leftover."""

    LOST = "its epoch is published without it"
    OLD = "its epoch was not published in time"


@frozen
class Leftover:
    """A ledger of a sink that no manifest names or ever will."""

    ledger_id: int
    mark: SinkMark
    """Sink, epoch, partition and attempt that it was written for."""
    state: LedgerState
    """Its state when it was found."""
    reason: Reason
    digest_type: DigestType
    password: bytes = field(repr=False)
    """The password in the ledger's metadata, for its recovery."""
    error: str = ""
    """Why it could not be fenced or deleted; empty if it is gone."""
    deleted: bool = False
    """Whether it is gone."""


@frozen
class SweepReport:
    """The result of a sweep."""

    leftovers: tuple[Leftover, ...]
    published: int
    """Ledgers of the swept sinks that a manifest names: not touched."""
    young: int
    """Ledgers of unpublished epochs that are within the grace time: not touched."""


Recover = Callable[[str, list[int], bytes, DigestType, float], Mapping[int, BookKeeperError]]


def sweep(
    uri: str,
    sink_id: str | None = None,
    *,
    grace_s: float = GRACE_S,
    dry_run: bool = False,
    timeout_s: float = 10.0,
    now_s: float | None = None,
    open_store: Callable[[str, float, MetadataSecurity | None], BlockingStore] = open_blocking_store,
    config: ClientConfig | None = None,
    recover: Recover | None = None,
) -> SweepReport:
    """Delete the leftovers of one sink, or of all sinks of the cluster.

    Ledgers that are still open are fenced first, by recovery: their writer, if there is one, fails at once.  A ledger
    that cannot be fenced, since its bookies are gone, is deleted all the same, and its ``error`` says why.

    :param uri: the cluster's metadata
    :param sink_id: the sink; None for all sinks
    :param grace_s: how old, in seconds, a ledger of an epoch that is not published must be
    :param dry_run: find the leftovers only
    :param timeout_s: how long the metadata store may take to answer, in seconds
    :param config: for the connections to bookies that fence a ledger, since a sweep sends bookies no other requests,
        and for a ZooKeeper with TLS or passwords
    :raises MetadataUnavailable: the store cannot be reached
    """
    recover = recover or partial(recover_ledgers, config=config)
    now_ms = (time.time() if now_s is None else now_s) * 1000
    with open_store(uri, timeout_s, None if config is None else config.metadata_security) as store:
        groups, young, kept = _candidates(store, sink_id), 0, 0
        leftovers: list[Leftover] = []
        for (sink, key), ledger_ids in groups.items():
            held = published(store, sink, key)
            ours = {each.ledger_id for each in held or ()}
            kept += len(ours.intersection(ledger_ids))
            others = [each for each in ledger_ids if each not in ours]
            wanted = {each: metadata for each, metadata, _ in _made_by_sinks(store, others)}
            if held is None:
                old = {each: it for each, it in wanted.items() if _age_ms(it, now_ms) > grace_s * 1000}
                young += len(wanted) - len(old)
                wanted = old
            if wanted and not dry_run:
                # A driver may publish it at this very moment: abandoning decides the race.
                wanted = {each: wanted[each] for each in abandon(store, sink, key, wanted)}
            reason = Reason.OLD if held is None else Reason.LOST
            leftovers += [_leftover(each, metadata, reason) for each, metadata in sorted(wanted.items())]
        if not dry_run:
            leftovers = _delete(store, leftovers, _fence(uri, leftovers, recover))
    return SweepReport(tuple(leftovers), kept, young)


def _candidates(store: BlockingStore, sink_id: str | None) -> dict[_Sink, list[int]]:
    """Return the ids of the ledgers that sinks have made, by epoch; without metadata, as most are published."""
    groups: dict[_Sink, list[int]] = {}
    for ledger_id, _, mark in _made_by_sinks(store, store.list_ledgers()):
        if sink_id in (None, mark.sink_id):
            groups.setdefault((mark.sink_id, mark.key), []).append(ledger_id)
    return groups


def _made_by_sinks(store: BlockingStore, ledger_ids: Iterable[int]) -> Iterator[tuple[int, LedgerMetadata, SinkMark]]:
    """Yield those of ``ledger_ids`` that exist and that a sink has made."""
    for ledger_id, found in store.read_ledgers(ledger_ids):
        if isinstance(found, Versioned):
            mark = SinkMark.of(found.metadata.custom_metadata)
            if mark is not None:
                yield ledger_id, found.metadata, mark


def _age_ms(metadata: LedgerMetadata, now_ms: float) -> float:
    return now_ms - metadata.ctime_ms if metadata.ctime_ms is not None else 0.0


def _leftover(ledger_id: int, metadata: LedgerMetadata, reason: Reason) -> Leftover:
    mark = SinkMark.of(metadata.custom_metadata)
    assert mark is not None
    digest_type = metadata.digest_type or DigestType.CRC32C
    return Leftover(ledger_id, mark, metadata.state, reason, digest_type, metadata.password or b"")


def _fence(uri: str, leftovers: Iterable[Leftover], recover: Recover) -> dict[int, BookKeeperError]:
    """Recover the ledgers that are not closed; return the errors of those that cannot be recovered."""
    failed: dict[int, BookKeeperError] = {}
    alike: dict[tuple[bytes, DigestType], list[int]] = {}
    for each in leftovers:
        if each.state is not LedgerState.CLOSED:
            alike.setdefault((each.password, each.digest_type), []).append(each.ledger_id)
    for (password, digest_type), ledger_ids in alike.items():
        failed.update(recover(uri, ledger_ids, password, digest_type, RECOVER_TIMEOUT_S))
    return failed


def _delete(
    store: BlockingStore, leftovers: Iterable[Leftover], unfenced: Mapping[int, BookKeeperError]
) -> list[Leftover]:
    done: list[Leftover] = []
    for each in leftovers:
        error = str(unfenced.get(each.ledger_id, ""))
        deleted = True
        try:
            store.delete_ledger(each.ledger_id)
        except NoSuchLedger:
            pass
        except BookKeeperError as failure:
            deleted, error = False, str(failure)
        done.append(evolve(each, error=error, deleted=deleted))
    return done
