"""Cookies of bookies, in their directories and in the metadata store (docs/formats/cookie.md)."""

import os

from bookkeeper_tx.bookie.cookie import Cookie
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.errors import BookKeeperError, IllegalOperation, InvalidArgument
from bookkeeper_tx.metadata.interfaces import MetadataStore
from protocol_specs.disk.cookie import FILE_NAME


def cookie_files(disk: Disk, places: Places) -> dict[str, bytes | None]:
    """Return the cookie in each directory, None where there is none.  Raises OSError."""
    found: dict[str, bytes | None] = {}
    for current in dict.fromkeys((*places.journal_currents, *places.ledger_currents, *places.index_currents)):
        path = os.path.join(current, FILE_NAME)
        found[path] = disk.read(path) if disk.exists(path) else None
    return found


def check_cookie(bookie_id: str, data: bytes, source: str) -> None:
    """Raise an error unless ``data`` is a cookie of this bookie."""
    cookie = Cookie.decode(data, source)
    if cookie.bookie_id != bookie_id:
        raise InvalidArgument(f"the cookie in {source} is that of bookie {cookie.bookie_id}, not of {bookie_id}")


async def read_cookie(store: MetadataStore, bookie_id: str) -> tuple[bytes, int]:
    """Return the cookie of a bookie in the store, and its version; raises InvalidArgument if there is none."""
    found = await store.read_cookie(bookie_id)
    if found is None:
        raise InvalidArgument(f"the metadata store has no cookie of bookie {bookie_id}")
    return found


async def create_cookie(store: MetadataStore, bookie_id: str, data: bytes) -> int:
    """Store the first cookie of a bookie, and return its version.  Raises IllegalOperation if there is one."""
    if await store.read_cookie(bookie_id) is not None:
        raise IllegalOperation(f"there is a cookie of bookie {bookie_id} already: update it, or delete it first")
    return await store.write_cookie(bookie_id, data, None)


async def update_cookie(store: MetadataStore, bookie_id: str, data: bytes) -> int:
    """Replace the cookie of a bookie that does not run, and return the new version."""
    await require_unregistered(store, bookie_id)
    _, version = await read_cookie(store, bookie_id)
    return await store.write_cookie(bookie_id, data, version)


async def delete_cookie(store: MetadataStore, bookie_id: str) -> int:
    """Delete the cookie of a bookie that does not run, and return the version that it had."""
    await require_unregistered(store, bookie_id)
    _, version = await read_cookie(store, bookie_id)
    await store.delete_cookie(bookie_id, version)
    return version


async def require_unregistered(store: MetadataStore, bookie_id: str) -> None:
    """Raise IllegalOperation if a bookie of this id serves clients now."""
    if bookie_id in await store.writable_bookies() or bookie_id in await store.read_only_bookies():
        raise IllegalOperation(f"bookie {bookie_id} is registered: stop it first")


def bookie_id_of(files: dict[str, bytes | None]) -> str:
    """Return the bookie id in the cookies of directories; raises InvalidArgument if they do not tell one."""
    try:
        return owner_of(files)[0]
    except InvalidArgument as error:
        raise InvalidArgument(f"{error}: name the bookie by its id") from None


def owner_of(files: dict[str, bytes | None]) -> tuple[str, str | None]:
    """Return bookie id and instance id in the cookies of directories; raises InvalidArgument if they do not tell."""
    try:
        found = [Cookie.decode(data, path) for path, data in files.items() if data is not None]
    except BookKeeperError as error:
        raise InvalidArgument(str(error)) from None
    owners = {(each.bookie_id, each.instance_id or None) for each in found}
    if len(owners) != 1:
        what = "the cookies are of several bookies" if owners else "there is no cookie"
        raise InvalidArgument(f"{what} in {', '.join(map(os.path.dirname, files))}")
    return owners.pop()
