"""Single V2 requests to a bookie, without a client's checks."""

from collections.abc import Sequence

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.model import DigestType
from protocol_specs import fields
from protocol_specs.wire.operations import Flag
from tests.integration.support.adding_channel import AddingChannel

PATIENT = ClientConfig(add_timeout_s=30.0, read_timeout_s=30.0)


def add(port: int, ledger_id: int, entry_id: int, payloads: Sequence[bytes], *, password: bytes = b"") -> None:
    """Add entries from ``entry_id`` on as the ledger's writer would; raises the bookie's first error."""
    digest = EntryDigest(DigestType.CRC32C, password)
    entries = [
        digest.seal(ledger_id, number, fields.NO_ENTRY, len(payload), payload)
        for number, payload in enumerate(payloads, entry_id)
    ]
    with AddingChannel("127.0.0.1", port, PATIENT) as channel:
        channel.add_entries(ledger_id, entry_id, entries, digest.master_key)


def add_recovered(port: int, ledger_id: int, entry_id: int, payload: bytes, *, password: bytes = b"") -> None:
    """Add one entry as a recovering client would, past the fence; raises the bookie's error."""
    digest = EntryDigest(DigestType.CRC32C, password)
    entry = digest.seal(ledger_id, entry_id, fields.NO_ENTRY, len(payload), payload)
    with AddingChannel("127.0.0.1", port, PATIENT) as channel:
        channel.add_entries(ledger_id, entry_id, [entry], digest.master_key, Flag.RECOVERY_ADD)


def fence(port: int, ledger_id: int, *, password: bytes = b"") -> BookKeeperError | None:
    """Fence a ledger there, known to the bookie or not; give the error that came with the reply."""
    digest = EntryDigest(DigestType.CRC32C, password)
    with AddingChannel("127.0.0.1", port, PATIENT) as channel:
        try:
            channel.read_entry(ledger_id, fields.LAST_ENTRY, Flag.FENCING, digest.master_key)
        except BookKeeperError as error:
            return error
    return None
