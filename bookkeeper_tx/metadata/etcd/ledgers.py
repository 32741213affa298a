"""Ledger metadata in etcd: a key for each ledger, named by the 128 bits of its id; and the ids of new ones."""

from collections.abc import Callable, Iterable, Iterator
from itertools import tee

from bookkeeper_tx.errors import BookKeeperError, LedgerExists, MetadataConflict, MetadataCorrupt, NoSuchLedger
from bookkeeper_tx.metadata.etcd.channel import ConnectionLost
from bookkeeper_tx.metadata.etcd.client import PAGE, EtcdClient, Stored, get, put
from bookkeeper_tx.metadata.etcd.cluster import EtcdCluster
from bookkeeper_tx.metadata.ledger_record.serialization import as_created, as_update, parse, serialize
from bookkeeper_tx.model import LedgerMetadata, Versioned, ledger_name
from protocol_specs import ledger_id as ids
from protocol_specs.metadata import etcd_layout as spec

_NEW_VERSION = 0

_WIDER = 256
"""How many times as many ids are looked through at once after some that have few ledgers: Java's are in 128 places."""

_BUCKET = 0
"""The bucket that ids are taken from.  Java's clients take all in turn, for the writes to be spread; etcd has one log
for all keys, and with one bucket ids stay small."""


class EtcdLedgers:
    """The ledgers of the cluster at one scope."""

    def __init__(self, client: EtcdClient, cluster: EtcdCluster, scope: str, draw_token: Callable[[int], int]) -> None:
        self._client = client
        self._cluster = cluster
        self._folder = f"{scope}/{spec.LEDGERS}"
        self._bucket = f"{scope}/{spec.BUCKETS}/{_BUCKET:03d}"
        self._draw_token = draw_token

    def key(self, ledger_id: int) -> str:
        """Return the key of a ledger."""
        return f"{self._folder}/{spec.ledger_name(ledger_id)}"

    def new_id(self) -> int:
        """Return an id of scope 0 that was never given before."""
        while True:
            try:
                answer = self._client.transact([self._cluster.is_there()], [put(self._bucket), get(self._bucket)])
            except ConnectionLost:
                continue  # if the id was given, nobody has it
            if not answer.succeeded:
                self._cluster.check_again()
                continue
            set_count: int = answer.responses[1].response_range.kvs[0].version
            return _BUCKET << spec.BUCKET_SHIFT | set_count

    def create(self, ledger_id: int, metadata: LedgerMetadata) -> Versioned:
        """Create a ledger.

        If an earlier request of this call, whose answer was lost, has made it, the very bytes are there: the token that
        was drawn for them is in no other's.
        """
        created = as_created(metadata, self._draw_token)
        data = serialize(created)
        while True:
            outcome = self._client.write(self.key(ledger_id), data, None, [self._cluster.is_there()])
            if outcome.done:
                return Versioned(created, _NEW_VERSION)
            if outcome.found is not None:
                raise LedgerExists(f"ledger {ledger_name(ledger_id)} exists already")
            self._cluster.check_again()

    def read(self, ledger_id: int) -> Versioned:
        found = self._client.read(self.key(ledger_id))
        if found is None:
            raise _no_such(ledger_id)
        return _versioned(ledger_id, found)

    def read_each(self, ledger_ids: Iterable[int]) -> Iterator[tuple[int, Versioned | BookKeeperError]]:
        """Yield each id and what :meth:`read` returns, or NoSuchLedger or MetadataCorrupt."""
        asked, to_send = tee(ledger_ids)
        found = self._client.read_each(map(self.key, to_send))
        for ledger_id, each in zip(asked, found, strict=True):
            if each is None:
                yield ledger_id, _no_such(ledger_id)
                continue
            try:
                stored: Versioned | BookKeeperError = _versioned(ledger_id, each)
            except MetadataCorrupt as error:
                stored = error
            yield ledger_id, stored

    def write(self, ledger_id: int, metadata: LedgerMetadata, version: int) -> Versioned:
        updated = as_update(metadata)
        outcome = self._client.write(self.key(ledger_id), serialize(updated), version)
        if outcome.done:
            return Versioned(updated, version + 1)
        if outcome.found is None:
            raise _no_such(ledger_id)
        raise MetadataConflict(
            f"metadata of ledger {ledger_name(ledger_id)} has version {outcome.found.version}, not {version}"
        )

    def delete(self, ledger_id: int) -> None:
        if not self._client.delete_any(self.key(ledger_id)):
            raise _no_such(ledger_id)

    def ids(self, scope_id: int | None) -> list[int]:
        """Return the ids of a scope, of all scopes for None, ascending: the order of the keys.

        Raises what :meth:`EtcdCluster.check` raises, rather than to say that a cluster that is gone has no ledgers.
        """
        at, last = (0, ids.QUALIFIED_ID_MAX) if scope_id is None else _bounds(scope_id)
        found: list[int] = []
        start, width = self.key(at).encode(), last - at + 1
        while at <= last:
            # A range that ends far away has etcd count a million keys for each page of them.
            end = min(at + width - 1, last)
            page = self._client.page(start, f"{self.key(end)}\0".encode())
            in_page = [ledger_id for pair in page.kvs if (ledger_id := self._id_of(pair.key)) is not None]
            found += in_page
            if page.more:
                start = page.kvs[-1].key + b"\0"
                at, before = (in_page or [at])[-1], at
                width = max(at - before, PAGE)
                continue
            start = f"{self.key(end)}\0".encode()
            at = end + 1
            if 2 * len(in_page) < PAGE:
                width *= _WIDER
        if not found:
            self._cluster.check_again()
        return found

    def _id_of(self, key: bytes) -> int | None:
        return spec.ledger_id_of(key[len(self._folder) + 1 :].decode("utf-8", "replace"))


def _bounds(scope_id: int) -> tuple[int, int]:
    first = ids.join(scope_id, 0)
    return first, first | ids.SCOPED_MIN - 1


def _versioned(ledger_id: int, found: Stored) -> Versioned:
    return Versioned(parse(found.value, ledger_id), found.version)


def _no_such(ledger_id: int) -> NoSuchLedger:
    return NoSuchLedger(f"there is no ledger {ledger_name(ledger_id)}")
