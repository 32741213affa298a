"""A ledgers root of a case's own, in a real ZooKeeper."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

from kazoo.exceptions import BadVersionError, NoNodeError

from compat_tests.client.records import LedgerRecord, decode
from compat_tests.judge.verdict import Mismatch
from compat_tests.targets.cluster import HIERARCHICAL_LAYOUT
from protocol_specs.metadata import bookie, layout
from protocol_specs.metadata.formats_pb2 import BookieServiceInfo

_OVER_THE_LIMIT = 10_000


class MetadataRoot:
    """The root of one case: its bookies are registered here, and its ledgers are."""

    def __init__(self, session: Any, hosts: str, path: str) -> None:
        self._session = session
        self.path = path
        self.uri = f"zk+hierarchical://{hosts.replace(',', ';')}{path}"

    def make(self) -> None:
        """Make the nodes of a cluster without bookies, in one transaction; its parent exists."""
        transaction = self._session.transaction()
        for name, data in (
            ("", b""),
            (f"/{layout.AVAILABLE}", b""),
            (f"/{layout.AVAILABLE}/{layout.READ_ONLY}", b""),
            (f"/{layout.COOKIES}", b""),
            (f"/{layout.INSTANCE_ID}", str(uuid.uuid4()).encode()),
            (f"/{layout.LAYOUT}", HIERARCHICAL_LAYOUT),
        ):
            transaction.create(self.path + name, data)
        for result in transaction.commit():
            if isinstance(result, Exception):
                raise result

    def remove(self) -> None:
        """Remove everything; a client that still writes here may make some of it again."""
        try:
            self._session.delete(self.path, recursive=True)
        except NoNodeError:
            return

    # Bookies ---------------------------------------------------------------------------------------------------------

    def register(self, *registrations: tuple[str, bytes]) -> None:
        """Register bookies, all in one transaction: each with its id and the data of its node."""
        transaction = self._session.transaction()
        for bookie_id, data in registrations:
            transaction.create(f"{self.path}/{layout.AVAILABLE}/{bookie_id}", data)
        for result in transaction.commit():
            if isinstance(result, Exception):
                raise result

    def unregister(self, bookie_id: str) -> None:
        """As when a bookie's session ends."""
        self._session.delete(f"{self.path}/{layout.AVAILABLE}/{bookie_id}")

    # Ledgers ---------------------------------------------------------------------------------------------------------

    def write(self, ledger_id: int, record: LedgerRecord | bytes) -> None:
        """Put a ledger's record there, or put another in its place."""
        data = record if isinstance(record, bytes) else record.encode()
        path = self._path(ledger_id)
        if self._session.exists(path):
            self._session.set(path, data)
        else:
            self._session.create(path, data, makepath=True)

    def raw(self, ledger_id: int) -> bytes:
        """The bytes of a ledger's record.  Raises Mismatch if there is none."""
        return bytes(self._get(ledger_id)[0])

    def read(self, ledger_id: int) -> LedgerRecord:
        """A ledger's record."""
        return decode(self.raw(ledger_id))

    def version(self, ledger_id: int) -> int:
        """How often the record was changed.  Raises Mismatch if there is none."""
        return int(self._get(ledger_id)[1].version)

    def exists(self, ledger_id: int) -> bool:
        """Whether there is a record."""
        return self._session.exists(self._path(ledger_id)) is not None

    def change(self, ledger_id: int, change: Callable[[LedgerRecord], LedgerRecord]) -> LedgerRecord:
        """Change a record as another client would, by compare and set.  Raises Mismatch if there is none."""
        for _ in range(_OVER_THE_LIMIT):
            data, stat = self._get(ledger_id)
            changed = change(decode(data))
            try:
                self._session.set(self._path(ledger_id), changed.encode(), version=stat.version)
            except (BadVersionError, NoNodeError):
                continue
            return changed
        raise Mismatch("the metadata", "to be left alone for a moment", "changed again and again")

    def delete(self, ledger_id: int) -> None:
        """Delete a ledger, as an administrator.  Raises Mismatch if there is none."""
        self._get(ledger_id)
        self._session.delete(self._path(ledger_id))

    def _get(self, ledger_id: int) -> tuple[Any, Any]:
        try:
            found: tuple[Any, Any] = self._session.get(self._path(ledger_id))
        except NoNodeError:
            raise Mismatch(f"the metadata of ledger {ledger_id}", "a record", "there is none") from None
        return found

    def _path(self, ledger_id: int) -> str:
        return f"{self.path}/{path_of(ledger_id)}"


def path_of(ledger_id: int) -> str:
    """Where a ledger is below the root, in the hierarchical layout."""
    groups: Sequence[int] = layout.SHORT_GROUPS if ledger_id < layout.ID_31_BIT_END else layout.LONG_GROUPS
    digits = f"{ledger_id:0{sum(groups)}d}"
    parts, start = [], 0
    for size in groups:
        parts.append(digits[start : start + size])
        start += size
    parts[-1] = layout.LEDGER_PREFIX + parts[-1]
    return "/".join(parts)


def registration(host: str, port: int, extensions: Sequence[str] = ()) -> bytes:
    """The data that a bookie of today publishes; releases up to 4.9 publish none."""
    info = BookieServiceInfo()
    info.endpoints.add(
        id=bookie.BOOKIE_ENDPOINT_ID, port=port, host=host, protocol=bookie.BOOKIE_RPC, extensions=extensions
    )
    return info.SerializeToString()
