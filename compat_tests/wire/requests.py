"""The requests that both protocol versions have, under one set of names; each has a number of its own."""

import itertools
from typing import Any

from compat_tests.judge.case import Dialect
from compat_tests.wire import v2_requests, v3_requests
from compat_tests.wire.entries import KEY, entry
from protocol_specs import fields
from protocol_specs.wire import v3, v3_pb2
from protocol_specs.wire.operations import Flag

_FIRST_NUMBER = 1000


class Requests:
    """Builds frames of one protocol version, without their length.

    ``key`` is the ledger's master key. A read or batch read carries one only if it fences or is given one.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self._numbers = itertools.count(_FIRST_NUMBER)

    def number(self) -> int:
        """A transaction or request id that no other request has."""
        return next(self._numbers)

    def add(
        self,
        ledger_id: int,
        entry_id: int,
        *,
        key: bytes = KEY,
        body: bytes | None = None,
        recovery: bool = False,
        high_priority: bool = False,
    ) -> bytes:
        """An add of an entry; ``body`` is the whole entry, one with the payload ``hello`` if not given."""
        body = entry(ledger_id, entry_id, entry_id - 1) if body is None else body
        if self.dialect is Dialect.V2:
            flags = (Flag.RECOVERY_ADD if recovery else 0) | (Flag.HIGH_PRIORITY if high_priority else 0)
            return v2_requests.add(ledger_id, entry_id, flags=flags, key=key, body=body)
        flag = v3_pb2.AddRequest.RECOVERY_ADD if recovery else None
        return v3_requests.add(ledger_id, entry_id, body, key=key, flag=flag, **self._v3(high_priority))

    def read(
        self,
        ledger_id: int,
        entry_id: int = fields.LAST_ENTRY,
        *,
        fencing: bool = False,
        key: bytes | None = None,
        high_priority: bool = False,
    ) -> bytes:
        """A read of an entry, by default of the last one."""
        if self.dialect is Dialect.V2:
            flags = (Flag.FENCING if fencing else 0) | (Flag.HIGH_PRIORITY if high_priority else 0)
            return v2_requests.read(ledger_id, entry_id, flags=flags, key=key or b"")
        options: dict[str, Any] = {} if key is None else {"key": key}
        flag = v3_pb2.ReadRequest.FENCE_LEDGER if fencing else None
        return v3_requests.read(ledger_id, entry_id, flag=flag, **options, **self._v3(high_priority))

    def fence(self, ledger_id: int, entry_id: int = fields.LAST_ENTRY, *, key: bytes = KEY) -> bytes:
        """A fencing read."""
        return self.read(ledger_id, entry_id, fencing=True, key=key)

    def batch_read(
        self,
        ledger_id: int,
        start: int,
        count: int,
        size: int,
        *,
        fencing: bool = False,
        key: bytes | None = None,
    ) -> bytes:
        """A batch read of at most ``count`` entries in a reply of ``size`` bytes."""
        if self.dialect is Dialect.V2:
            flags = Flag.FENCING if fencing else 0
            return v2_requests.batch_read(
                ledger_id, start, count, size, flags=flags, key=key or b"", request_id=self.number()
            )
        options: dict[str, Any] = {} if key is None else {"key": key}
        flag = v3_pb2.BatchReadRequest.FENCE_LEDGER if fencing else None
        return v3_requests.batch_read(ledger_id, start, count, size, flag=flag, **options, **self._v3(False))

    def _v3(self, high_priority: bool) -> dict[str, int]:
        return {"txn_id": self.number(), "priority": v3.PRIORITY_HIGH if high_priority else 0}
