"""Interfaces that have more than one implementation."""

from zope.interface import Interface


class IMetadataStore(Interface):
    """A cluster's metadata: ledgers, bookie registration, cookies.  Methods that ask the store return a Deferred.

    Errors of all methods: :class:`~bookkeeper_tx.errors.MetadataUnavailable` when the store cannot be reached within
    its timeout, :class:`~bookkeeper_tx.errors.MetadataCorrupt` for a record that cannot be understood.  After a failure
    with MetadataUnavailable a change may have been made or not.

    A ledger id may be of any scope (:class:`~bookkeeper_tx.model.LedgerId`).  Only :meth:`new_ledger_id` is for scope 0
    alone, since ids of other scopes need no generator.
    """

    def start():  # type: ignore[no-untyped-def]
        """Connect.  Fires when connected; fails with MetadataUnavailable after the store's timeout."""

    def stop():  # type: ignore[no-untyped-def]
        """Give up registrations, disconnect, fail pending requests.  Fires when no thread of ours is left."""

    def initialize():  # type: ignore[no-untyped-def]
        """Create an empty cluster (root, layout, instance id) unless there is one.  Fires with True if it made one."""

    def instance_id():  # type: ignore[no-untyped-def]
        """Fire with the cluster's instance id, a UUID text, or None if the cluster has none."""

    def new_ledger_id():  # type: ignore[no-untyped-def]
        """Fire with a ledger id that was never given before."""

    def create_ledger(ledger_id, metadata):  # type: ignore[no-untyped-def]
        """Store new metadata; fires with Versioned.  Fails with LedgerExists (but not for our own retried create)."""

    def read_ledger(ledger_id):  # type: ignore[no-untyped-def]
        """Fire with Versioned; fails with NoSuchLedger."""

    def write_ledger(ledger_id, metadata, version):  # type: ignore[no-untyped-def]
        """Compare and set; fires with Versioned.  Fails with MetadataConflict or NoSuchLedger."""

    def delete_ledger(ledger_id):  # type: ignore[no-untyped-def]
        """Delete the metadata; fires with None.  Fails with NoSuchLedger."""

    def list_ledgers(scope_id=0):  # type: ignore[no-untyped-def]
        """Fire with the ids of all ledgers of a scope, of all scopes for None, ascending."""

    def watch_ledger(ledger_id, changed):  # type: ignore[no-untyped-def]
        """Call ``changed()`` after each change until the returned callable is called; read again to see what changed.

        Returns that callable, at once.  Watch first, then read: no change after that read is missed.  Several changes
        in quick succession may be one call.
        """

    def register_bookie(bookie_id, info, read_only=False, lost=None):  # type: ignore[no-untyped-def]
        """Make a bookie visible to clients, and keep it so over lost sessions; call again to change ``read_only``.

        Fails with BookieIdInUse when another process has registered this id.  ``lost(error)`` is called when a session
        was lost and the registration could not be made again, because another process has taken the id.
        """

    def unregister_bookie(bookie_id):  # type: ignore[no-untyped-def]
        """Take the registration back; fires with None."""

    def writable_bookies():  # type: ignore[no-untyped-def]
        """Fire with the frozenset of the ids of registered writable bookies."""

    def read_only_bookies():  # type: ignore[no-untyped-def]
        """Fire with the frozenset of the ids of registered read-only bookies."""

    def bookie_info(bookie_id):  # type: ignore[no-untyped-def]
        """Fire with the BookieServiceInfo of a registered bookie; fails with BookieUnavailable."""

    def watch_bookies(changed):  # type: ignore[no-untyped-def]
        """Call ``changed()`` whenever registrations change, until the returned callable is called."""

    def read_cookie(bookie_id):  # type: ignore[no-untyped-def]
        """Fire with (cookie bytes, version), or None."""

    def write_cookie(bookie_id, cookie, version):  # type: ignore[no-untyped-def]
        """Create (version None) or compare and set; fires with the new version.  Fails with MetadataConflict."""

    def delete_cookie(bookie_id, version):  # type: ignore[no-untyped-def]
        """Delete a cookie; fires with None.  Fails with MetadataConflict."""
