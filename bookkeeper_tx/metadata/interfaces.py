"""What a metadata store can do: said once, for the stores that there are and for those of others."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from bookkeeper_tx.model import BookieId, BookieServiceInfo, LedgerMetadata, Replication, Versioned

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred


class ClientMetadataStore(Protocol):
    """The part of a store that a client needs: ledgers, and where bookies are.

    Methods that ask the store return a promise of the world that it is for: a Deferred on Twisted.  Errors of them all:
    :class:`~bookkeeper_tx.errors.MetadataUnavailable` when the store cannot be reached within its timeout,
    :class:`~bookkeeper_tx.errors.MetadataCorrupt` for a record that cannot be understood.  After a failure with
    MetadataUnavailable a change may have been made or not.

    A ledger id may be of any scope (:class:`~bookkeeper_tx.model.LedgerId`).  Only :meth:`new_ledger_id` is for scope 0
    alone, since ids of other scopes need no generator.
    """

    def start(self) -> Awaitable[None]:
        """Connect.  Fires when connected; fails with MetadataUnavailable after the store's timeout."""

    def stop(self) -> Awaitable[None]:
        """Give up registrations, disconnect, fail pending requests.  Fires when no thread of ours is left."""

    def new_ledger_id(self) -> Awaitable[int]:
        """Fire with a ledger id that was never given before."""

    def create_ledger(self, ledger_id: int, metadata: LedgerMetadata) -> Awaitable[Versioned]:
        """Store new metadata.  Fails with LedgerExists (but not for our own retried create)."""

    def read_ledger(self, ledger_id: int) -> Awaitable[Versioned]:
        """Fails with NoSuchLedger."""

    def write_ledger(self, ledger_id: int, metadata: LedgerMetadata, version: int) -> Awaitable[Versioned]:
        """Compare and set.  Fails with MetadataConflict or NoSuchLedger."""

    def delete_ledger(self, ledger_id: int) -> Awaitable[None]:
        """Delete the metadata.  Fails with NoSuchLedger."""

    def list_ledgers(self, scope_id: int | None = 0) -> Awaitable[list[int]]:
        """Fire with the ids of all ledgers of a scope, of all scopes for None, ascending."""

    def watch_ledger(self, ledger_id: int, changed: Callable[[], None]) -> Callable[[], None]:
        """Call ``changed()`` after each change until the returned callable is called; read again to see what changed.

        Returns that callable, at once.  Watch first, then read: no change after that read is missed.  Several changes
        in quick succession may be one call.
        """

    def read_record(self, path: tuple[str, ...]) -> Awaitable[tuple[bytes, int] | None]:
        """Fire with the bytes and the version of a named record (``named_records.py``), or None if there is none."""

    def write_record(self, path: tuple[str, ...], data: bytes, version: int | None) -> Awaitable[int]:
        """Create (version None) or compare and set; fires with the new version.

        A record has 1 to RECORD_SIZE_MAX bytes.  Fails with MetadataConflict, InvalidArgument.
        """

    def delete_record(self, path: tuple[str, ...], version: int) -> Awaitable[None]:
        """Delete a record.  Fails with MetadataConflict."""

    def list_records(self, path: tuple[str, ...]) -> Awaitable[list[str]]:
        """Fire with the next names of all records below ``path``, sorted; ``()`` lists from the top."""

    def writable_bookies(self) -> Awaitable[frozenset[BookieId]]:
        """Fire with the ids of registered writable bookies."""

    def bookie_info(self, bookie_id: BookieId) -> Awaitable[BookieServiceInfo]:
        """Fire with what a registered bookie publishes; fails with BookieUnavailable."""

    def watch_bookies(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call ``changed()`` whenever registrations change, until the returned callable is called."""


class MetadataStore(ClientMetadataStore, Protocol):
    """All of a cluster's metadata: what clients need, and the cluster itself, bookie registration and cookies."""

    def initialize(self) -> "Deferred[bool]":
        """Create an empty cluster (root, layout, instance id) unless there is one.  Fires with True if it made one."""

    def instance_id(self) -> "Deferred[str | None]":
        """Fire with the cluster's instance id, a UUID text, or None if the cluster has none."""

    def read_latest_ledger(self, ledger_id: int) -> "Deferred[Versioned]":
        """As ``read_ledger``, but no server answers that does not know all that was written before this call."""

    def register_bookie(
        self,
        bookie_id: BookieId,
        info: BookieServiceInfo,
        read_only: bool = False,
        lost: Callable[[BaseException], None] | None = None,
    ) -> "Deferred[None]":
        """Make a bookie visible to clients, and keep it so over lost sessions; call again to change ``read_only``.

        Fails with BookieIdInUse when another process has registered this id.  ``lost(error)`` is called when a session
        was lost and the registration could not be made again, because another process has taken the id.
        """

    def unregister_bookie(self, bookie_id: BookieId) -> "Deferred[None]":
        """Take the registration back."""

    def read_only_bookies(self) -> "Deferred[frozenset[BookieId]]":
        """Fire with the ids of registered read-only bookies."""

    def read_cookie(self, bookie_id: BookieId) -> "Deferred[tuple[bytes, int] | None]":
        """Fire with cookie and version, or None."""

    def write_cookie(self, bookie_id: BookieId, cookie: bytes, version: int | None) -> "Deferred[int]":
        """Create (version None) or compare and set; fires with the new version.  Fails with MetadataConflict."""

    def delete_cookie(self, bookie_id: BookieId, version: int) -> "Deferred[None]":
        """Delete a cookie.  Fails with MetadataConflict."""

    def cookie_bookies(self) -> "Deferred[frozenset[BookieId]]":
        """Fire with all bookies that have a cookie, also those that are down."""

    def replication(self) -> "Deferred[Replication]":
        """Fire with the state of re-replication; in a store that knows none, nothing is due."""

    def lock_replication(self, ledger_id: int, bookie_id: BookieId) -> "Deferred[bool]":
        """Keep others from making copies of a ledger, and from deleting copies; fires with whether that is so now.

        The lock ends with :meth:`unlock_replication`, or with the store's session.
        """

    def unlock_replication(self, ledger_id: int) -> "Deferred[None]":
        """Give back the lock."""
