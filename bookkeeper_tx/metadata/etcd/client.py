"""Operations on keys of etcd: compare and set, pages, leases; repeated over broken connections if that does no harm."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final

from attrs import frozen

from bookkeeper_tx.errors import MetadataUnavailable
from bookkeeper_tx.metadata.etcd.channel import ConnectionLost, EtcdChannel
from protocol_specs.metadata import etcd_layout as spec
from protocol_specs.metadata import etcd_pb2 as messages

PAGE: Final = 1000
"""Keys that are asked for at once: some 60 kB of names."""

READS_AT_ONCE: Final = 100
"""Keys that are read in one transaction; servers take 128 by default."""

PAUSE_AFTER_LOSS_S: Final = 0.05


@frozen
class Stored:
    """What is stored under a key."""

    value: bytes
    version: int
    """0 for a new key, and one more with each change; a key that is made anew starts again."""
    mod_revision: int
    """The change of the whole etcd that set the key last; no two changes have the same."""
    create_revision: int
    """The change that made the key; a key that is made anew has another."""
    lease: int
    """The lease with which the key goes; 0 if it stays."""


@frozen
class Outcome:
    """What became of a change."""

    done: bool
    found: Stored | None
    """What was there instead of what had to be, if it was not done."""


def stored(pair: Any) -> Stored:
    """Return what a KeyValue of etcd says; etcd counts versions from 1."""
    return Stored(pair.value, pair.version - 1, pair.mod_revision, pair.create_revision, pair.lease)


def _first(pairs: Sequence[Any]) -> Stored | None:
    """Return what is stored under one key, of which etcd has sent the KeyValue or none."""
    return stored(pairs[0]) if pairs else None


def put(key: str, value: bytes = b"", lease: int = 0) -> Any:
    """Return the part of a transaction that sets a key."""
    return messages.RequestOp(request_put=messages.PutRequest(key=key.encode(), value=value, lease=lease))


def get(key: str) -> Any:
    """Return the part of a transaction that reads a key."""
    return messages.RequestOp(request_range=messages.RangeRequest(key=key.encode()))


def remove(key: str) -> Any:
    """Return the part of a transaction that deletes a key."""
    return messages.RequestOp(request_delete_range=messages.DeleteRangeRequest(key=key.encode()))


def has_version(key: str, version: int | None) -> Any:
    """Return the condition that a key has a version; None: that there is no such key."""
    return messages.Compare(key=key.encode(), version=0 if version is None else version + 1)


def is_unchanged(key: str, found: Stored | None) -> Any:
    """Return the condition that a key is as it was when it was read."""
    revision = 0 if found is None else found.mod_revision
    return messages.Compare(key=key.encode(), target=messages.Compare.MOD, mod_revision=revision)


def was_made_at(key: str, create_revision: int) -> Any:
    """Return the condition that a key is there, and was not made anew since that change."""
    return messages.Compare(key=key.encode(), target=messages.Compare.CREATE, create_revision=create_revision)


class EtcdClient:
    """Blocks; for any number of threads, each of which has the time limit of its own operation."""

    def __init__(
        self,
        channel: EtcdChannel,
        timeout_s: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.channel = channel
        self.hosts = channel.hosts
        self.timeout_s = timeout_s
        self._clock = clock
        self._sleep = sleep
        self._thread = threading.local()

    # Time ---------------------------------------------------------------------------------------------------------

    def deadline(self) -> float:
        """Return the time at which an operation that begins now has to be over."""
        return self._clock() + self.timeout_s

    @contextmanager
    def until(self, deadline: float) -> Iterator[None]:
        """Have the calls of this thread end at ``deadline``, with MetadataUnavailable."""
        outer = getattr(self._thread, "deadline", None)
        self._thread.deadline = deadline
        try:
            yield
        finally:
            self._thread.deadline = outer
            if outer is None:
                self._thread.lost = None

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Have the calls of this thread end with its operation; outside of one, after the time of one."""
        with self.until(self._clock() + self.left_s()):
            yield

    def left_s(self) -> float:
        """Return the time that the operation of this thread has left; raises MetadataUnavailable if that is none."""
        deadline = getattr(self._thread, "deadline", None)
        left_s = self.timeout_s if deadline is None else float(deadline) - self._clock()
        if left_s <= 0:
            lost = getattr(self._thread, "lost", None)
            reason = "" if lost is None else f" ({lost.reason})"
            raise MetadataUnavailable(
                f"etcd at {self.hosts} did not answer within {self.timeout_s:g} s{reason}; "
                "a change that was asked for may be made or not"
            ) from lost
        return left_s

    # Requests -----------------------------------------------------------------------------------------------------

    def once(self, name: str, request: Any) -> Any:
        """Make a request once; raises ConnectionLost when its outcome is unknown."""
        try:
            answer = self.channel.call(name, request, self.left_s())
        except ConnectionLost as error:
            self.pause_after(error)
            raise
        self._thread.lost = None
        return answer

    def pause_after(self, error: ConnectionLost) -> None:
        """Wait before a request is repeated: while a server cannot be reached, it fails at once."""
        if error.reason:
            self._thread.lost = error  # it is said when the time is over
        self._sleep(min(PAUSE_AFTER_LOSS_S, self.left_s()))

    def insist(self, name: str, request: Any) -> Any:
        """Repeat a request until there is an answer; for requests that do no harm when done twice."""
        with self.limited():
            while True:
                try:
                    return self.once(name, request)
                except ConnectionLost:
                    continue

    def transact(self, conditions: Sequence[Any], changes: Sequence[Any], otherwise: Sequence[Any] = ()) -> Any:
        """Make all changes if all conditions hold, once; else do what is ``otherwise``."""
        return self.once("Txn", messages.TxnRequest(compare=conditions, success=changes, failure=otherwise))

    def read(self, key: str) -> Stored | None:
        """Return what is stored under a key, None if there is nothing."""
        return _first(self.insist("Range", messages.RangeRequest(key=key.encode())).kvs)

    def read_each(self, keys: Iterable[str]) -> Iterator[Stored | None]:
        """Yield what is stored under each key, in order; many are read at once, and the time limit holds for those."""
        source = iter(keys)
        while some := list(islice(source, READS_AT_ONCE)):
            with self.until(self.deadline()):
                found = self.read_together(some)
            yield from found

    def read_together(self, keys: Sequence[str]) -> list[Stored | None]:
        """Return what is stored under each of a few keys at one time."""
        answer = self.insist("Txn", messages.TxnRequest(success=[get(key) for key in keys]))
        return [_first(each.response_range.kvs) for each in answer.responses]

    def names(self, folder: str) -> list[str]:
        """Return what follows ``folder/`` in all keys that begin so, ascending.

        They are read in pages; the time limit holds for each page.
        """
        start = len(folder) + 1
        pairs = self.between(f"{folder}/", folder + spec.END)
        return [pair.key[start:].decode("utf-8", "replace") for pair in pairs]

    def between(self, start: str, end: str) -> Iterator[Any]:
        """Yield a KeyValue, without its value, for each key from ``start`` up to ``end``, which is not among them."""
        first = start.encode()
        while True:
            page = self.page(first, end.encode())
            yield from page.kvs
            if not page.more:
                return
            first = page.kvs[-1].key + b"\0"

    def page(self, start: bytes, end: bytes) -> Any:
        """Return etcd's answer with the first keys of a range, without their values; it has a time limit of its own.

        However few are asked for, etcd counts them all.
        """
        request = messages.RangeRequest(key=start, range_end=end, limit=PAGE, keys_only=True)
        with self.until(self.deadline()):
            return self.insist("Range", request)

    # Compare and set ----------------------------------------------------------------------------------------------

    def write(self, key: str, value: bytes, version: int | None, also: Sequence[Any] = ()) -> Outcome:
        """Set a key if it has ``version`` (None: if it is not there), and if the conditions ``also`` hold.

        After a lost answer, finding this very value in the next version means that it was done.
        """
        after = 0 if version is None else version + 1
        return self._change(
            [has_version(key, version), *also],
            put(key, value),
            key,
            lambda found: found is not None and (found.value, found.version) == (value, after),
        )

    def delete(self, key: str, version: int) -> Outcome:
        """Delete a key if it has ``version``.  After a lost answer, finding none means that it was done."""
        return self._change([has_version(key, version)], remove(key), key, lambda found: found is None)

    def delete_any(self, key: str) -> bool:
        """Delete a key whatever its version; return whether there was one.

        What is deleted is the state that was read: a request that was given up, and is carried out later, does no harm
        to a key that is made anew.
        """
        found, repeated = self.read(key), False
        while found is not None:
            try:
                answer = self.transact([is_unchanged(key, found)], [remove(key)], [get(key)])
            except ConnectionLost:
                repeated = True
                continue
            if answer.succeeded:
                return True
            before, found = found, _first(answer.responses[0].response_range.kvs)
            if repeated and (found is None or found.create_revision != before.create_revision):
                return True  # by an earlier request
        return False

    def _change(
        self, conditions: Sequence[Any], change: Any, key: str, is_own: Callable[[Stored | None], bool]
    ) -> Outcome:
        repeated = False
        while True:
            try:
                answer = self.transact(conditions, [change], [get(key)])
            except ConnectionLost:
                repeated = True
                continue
            if answer.succeeded:
                return Outcome(True, None)
            found = _first(answer.responses[0].response_range.kvs)
            return Outcome(repeated and is_own(found), found)
