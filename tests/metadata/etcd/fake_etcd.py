"""An etcd in memory, behind the interface of EtcdChannel: keys, transactions, leases, no time; and lost answers."""

from collections.abc import Callable
from typing import Any

from bookkeeper_tx.errors import MetadataUnavailable
from bookkeeper_tx.metadata.etcd.channel import ConnectionLost, LeaseLost
from protocol_specs.metadata import etcd_pb2 as messages


class FakeEtcd:
    """What all channels to it share."""

    def __init__(self) -> None:
        self.revision = 1
        self.keys: dict[bytes, Any] = {}
        self.leases: set[int] = set()
        self.requests: list[str] = []
        self.lost: list[tuple[str, Any]] = []
        """The requests that were lost; a server may carry them out later."""
        self.counted = 0
        """The keys in all ranges that were asked for, beyond their limits, too."""
        self.reason = ""
        """Why requests are lost, as gRPC would say it."""
        self.lose: Callable[[str], str | None] = lambda name: None
        """Says of a request whether its "request" or its "answer" is lost."""

    def end_lease(self, lease: int) -> None:
        """As when nobody has kept it alive."""
        self.leases.discard(lease)
        self.keys = {key: pair for key, pair in self.keys.items() if pair.lease != lease}

    def answer(self, name: str, request: Any) -> Any:
        """Carry out a request."""
        return getattr(self, f"_{name}")(request)

    def _Range(self, request: Any) -> Any:
        found = sorted(key for key in self.keys if _is_in(key, request))
        self.counted += len(found)
        limit = request.limit or len(found)
        answer = messages.RangeResponse(more=len(found) > limit)
        for key in found[:limit]:
            answer.kvs.add().CopyFrom(self.keys[key])
            if request.keys_only:
                answer.kvs[-1].ClearField("value")
        return answer

    def _Txn(self, request: Any) -> Any:
        succeeded = all(map(self._holds, request.compare))
        changes = request.success if succeeded else request.failure
        for each in changes:
            lease = each.request_put.lease if each.HasField("request_put") else 0
            if lease and lease not in self.leases:
                raise LeaseLost("requested lease not found")
        self.revision += 1
        answer = messages.TxnResponse(succeeded=succeeded)
        for each in changes:
            if each.HasField("request_range"):
                answer.responses.add().response_range.CopyFrom(self._Range(each.request_range))
                continue
            answer.responses.add()
            if each.HasField("request_put"):
                self._put(each.request_put)
            else:
                for key in [key for key in self.keys if _is_in(key, each.request_delete_range)]:
                    del self.keys[key]
        return answer

    def _put(self, request: Any) -> None:
        pair = self.keys.setdefault(request.key, messages.KeyValue(key=request.key, create_revision=self.revision))
        pair.value, pair.lease, pair.mod_revision = request.value, request.lease, self.revision
        pair.version += 1

    def _holds(self, condition: Any) -> bool:
        pair = self.keys.get(condition.key, messages.KeyValue())
        if condition.target == messages.Compare.MOD:
            return bool(pair.mod_revision == condition.mod_revision)
        if condition.target == messages.Compare.CREATE:
            return bool(pair.create_revision == condition.create_revision)
        return bool(pair.version == condition.version)

    def _LeaseGrant(self, request: Any) -> Any:
        self.revision += 1
        self.leases.add(self.revision)
        return messages.LeaseGrantResponse(ID=self.revision, TTL=request.TTL)

    def _LeaseKeepAlive(self, request: Any) -> Any:
        return messages.LeaseKeepAliveResponse(ID=request.ID, TTL=10 if request.ID in self.leases else 0)

    def _LeaseRevoke(self, request: Any) -> Any:
        self.end_lease(request.ID)
        return messages.LeaseRevokeResponse()


class FakeChannel:
    """A channel to ``etcd``; it has no watches."""

    hosts = "fake:2379"

    def __init__(self, etcd: FakeEtcd) -> None:
        self._etcd = etcd
        self.closed = False

    def call(self, name: str, request: Any, timeout_s: float) -> Any:
        assert timeout_s > 0
        if self.closed:
            raise MetadataUnavailable("the metadata store was stopped")
        self._etcd.requests.append(name)
        lost = self._etcd.lose(name)
        if lost == "request":
            self._etcd.lost.append((name, request))
            raise ConnectionLost("lost", self._etcd.reason)
        answer = self._etcd.answer(name, request)
        if lost == "answer":
            raise ConnectionLost("lost", self._etcd.reason)
        return answer

    def close(self) -> None:
        self.closed = True


def _is_in(key: bytes, request: Any) -> bool:
    if not request.range_end:
        return bool(key == request.key)
    return bool(request.key <= key < request.range_end)
