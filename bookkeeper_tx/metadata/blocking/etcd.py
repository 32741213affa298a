"""The metadata store in etcd for programs without a reactor."""

import secrets
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.metadata.blocking.opened import Opened
from bookkeeper_tx.metadata.documents import DocumentPath
from bookkeeper_tx.metadata.etcd.channel import EtcdChannel
from bookkeeper_tx.metadata.etcd.client import EtcdClient
from bookkeeper_tx.metadata.etcd.records import EtcdRecords
from bookkeeper_tx.metadata.uri import EtcdUri
from bookkeeper_tx.metadata.watches import Key
from bookkeeper_tx.model import BookieId, BookieServiceInfo, LedgerMetadata, Versioned, check_ledger_id


class BlockingEtcdStore(Opened):
    """The store of the cluster at ``uri``."""

    def __init__(
        self,
        uri: EtcdUri,
        timeout_s: float,
        *,
        make_channel: Callable[..., Any] = EtcdChannel,
        draw_token: Callable[[int], int] = secrets.randbits,
    ) -> None:
        """``timeout_s`` is how long an operation may take."""
        self._client = EtcdClient(make_channel(uri.hosts), timeout_s)
        self._records = EtcdRecords(self._client, uri.scope, lambda key: self._changed(key), draw_token)
        self._changed: Callable[[Key | None], None] = lambda key: None

    def open(self) -> None:
        """Connect; raises MetadataUnavailable if nobody answers or there is no cluster."""
        try:
            self._do(lambda: None)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._records.close()

    def instance_id(self) -> str | None:
        instance_id: str | None = self._do(self._records.cluster.instance_id)
        return instance_id

    # Ledgers ------------------------------------------------------------------------------------------------------

    def new_ledger_id(self) -> int:
        return int(self._do(self._records.ledgers.new_id))

    def create_ledger(self, ledger_id: int, metadata: LedgerMetadata) -> Versioned:
        return self._versioned(self._records.ledgers.create, check_ledger_id(ledger_id), metadata)

    def read_ledger(self, ledger_id: int) -> Versioned:
        return self._versioned(self._records.ledgers.read, ledger_id)

    def read_ledgers(self, ledger_ids: Iterable[int]) -> Iterator[tuple[int, Versioned | BookKeeperError]]:
        return self._records.ledgers.read_each(ledger_ids)

    def write_ledger(self, ledger_id: int, metadata: LedgerMetadata, version: int) -> Versioned:
        return self._versioned(self._records.ledgers.write, ledger_id, metadata, version)

    def delete_ledger(self, ledger_id: int) -> None:
        self._do(self._records.ledgers.delete, ledger_id)

    def list_ledgers(self, scope_id: int | None = 0) -> list[int]:
        return list(self._do(self._records.ledgers.ids, scope_id))

    # Bookies ------------------------------------------------------------------------------------------------------

    def writable_bookies(self) -> frozenset[BookieId]:
        return frozenset(self._do(self._records.bookies.writable))

    def read_only_bookies(self) -> frozenset[BookieId]:
        return frozenset(self._do(self._records.bookies.read_only))

    def bookie_info(self, bookie_id: BookieId) -> BookieServiceInfo:
        info: BookieServiceInfo = self._do(self._records.bookies.info, bookie_id)
        return info

    def cookie_bookies(self) -> frozenset[BookieId]:
        return frozenset(self._do(self._records.cookies.bookie_ids))

    # Changes ------------------------------------------------------------------------------------------------------

    tells = True

    def stamps(self, keys: Collection[Key], changed: Callable[[Key | None], None]) -> dict[Key, Any]:
        self._changed = changed
        stamps: dict[Key, Any] = self._do(self._records.stamps, keys)
        return stamps

    def forget(self, key: Key) -> None:
        self._records.watches.unwatch(key)

    # Named records ------------------------------------------------------------------------------------------------

    def read_record(self, path: DocumentPath) -> tuple[bytes, int] | None:
        found: tuple[bytes, int] | None = self._do(self._records.named.read, path)
        return found

    def write_record(self, path: DocumentPath, data: bytes, version: int | None) -> int:
        return int(self._do(self._records.named.write, path, data, version))

    def delete_record(self, path: DocumentPath, version: int) -> None:
        self._do(self._records.named.delete, path, version)

    def list_records(self, path: DocumentPath) -> list[str]:
        return list(self._do(self._records.named.names, path))

    # Documents ----------------------------------------------------------------------------------------------------

    def create_document(self, path: DocumentPath, data: bytes) -> bool:
        return bool(self._do(self._records.documents.create, path, data))

    def read_document(self, path: DocumentPath) -> bytes | None:
        data: bytes | None = self._do(self._records.documents.read, path)
        return data

    def list_documents(self, path: DocumentPath) -> list[str]:
        return list(self._do(self._records.documents.names, path))

    def delete_document(self, path: DocumentPath) -> None:
        self._do(self._records.documents.delete, path)

    # ---------------------------------------------------------------------------------------------------------------

    def _versioned(self, function: Callable[..., Versioned], *args: Any) -> Versioned:
        versioned: Versioned = self._do(function, *args)
        return versioned

    def _do(self, function: Callable[..., Any], *args: Any) -> Any:
        with self._client.until(self._client.deadline()):
            return self._records.do(function, *args)
