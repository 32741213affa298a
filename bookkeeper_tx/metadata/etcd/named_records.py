"""Named records and documents in etcd: a key each, named by the encoded names of its path with slashes between them."""

from bookkeeper_tx.metadata.documents import DocumentPath, check_document, decoded, encoded
from bookkeeper_tx.metadata.etcd.client import EtcdClient
from bookkeeper_tx.metadata.named_records import NEW_VERSION, changed_by_others, check_path, check_record
from protocol_specs.metadata import etcd_layout as spec


class _Paths:
    """Keys whose names are paths, below one folder."""

    def __init__(self, client: EtcdClient, folder: str) -> None:
        self._client = client
        self._folder = folder

    def names(self, path: DocumentPath) -> list[str]:
        """Return the next names of all that is below ``path``, sorted.

        They come in pages, after each of which what else is below its last name is passed over.
        """
        folder = self._key(path)
        start, found = f"{folder}/", set[str]()
        while True:
            page = self._client.page(start.encode(), f"{folder}{spec.END}".encode())
            below = [pair.key.decode("ascii")[len(folder) + 1 :].partition("/") for pair in page.kvs]
            found.update(name for name, _, _ in below)
            if not page.more:
                return sorted(map(decoded, found))
            name, slash, _ = below[-1]
            start = f"{folder}/{name}" + (spec.END if slash else "\0")

    def _key(self, path: DocumentPath) -> str:
        return "/".join([self._folder, *encoded(path)])


class EtcdNamedRecords(_Paths):
    """The named records of the cluster at one scope."""

    def __init__(self, client: EtcdClient, scope: str) -> None:
        super().__init__(client, f"{scope}/{spec.NAMED_RECORDS}")

    def read(self, path: DocumentPath) -> tuple[bytes, int] | None:
        """Return the bytes of a record and its version, None if there is none."""
        check_path(path)
        found = self._client.read(self._key(path))
        return None if found is None else (found.value, found.version)

    def write(self, path: DocumentPath, data: bytes, version: int | None) -> int:
        """Create (version None) or compare and set; return the new version.  Raises MetadataConflict."""
        check_record(path, data)
        if not self._client.write(self._key(path), data, version).done:
            raise changed_by_others(path, version)
        return NEW_VERSION if version is None else version + 1

    def delete(self, path: DocumentPath, version: int) -> None:
        """Delete a record that has ``version``; raises MetadataConflict."""
        check_path(path)
        if not self._client.delete(self._key(path), version).done:
            raise changed_by_others(path, version)


class EtcdDocuments(_Paths):
    """The documents of the cluster at one scope."""

    def __init__(self, client: EtcdClient, scope: str) -> None:
        super().__init__(client, f"{scope}/{spec.DOCUMENTS}")

    def create(self, path: DocumentPath, data: bytes) -> bool:
        """Create a document; returns False if there is one.

        After a lost answer, finding these very bytes means that they were written by this call.
        """
        check_document(path, data)
        return self._client.write(self._key(path), data, None).done

    def read(self, path: DocumentPath) -> bytes | None:
        """Return the bytes of a document, None if there is none."""
        found = self._client.read(self._key(path)) if path else None
        return None if found is None else found.value

    def delete(self, path: DocumentPath) -> None:
        """Delete a document, if there is one."""
        if path:
            self._client.delete_any(self._key(path))
