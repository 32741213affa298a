"""Opening a ledger to read it: with recovery, which fences its writer and closes it, or without."""

from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.client.create_ledger import require_digest_type, require_password
from bookkeeper_tx.client.ledger_ids import require_scope_on_the_wire
from bookkeeper_tx.client.ledger_reader import LedgerReader
from bookkeeper_tx.client.recovery import RULES, Recovery, RecoveryRules
from bookkeeper_tx.entry.digest import EntryDigest, shared_digest
from bookkeeper_tx.errors import DigestMismatch, InvalidArgument, Unauthorized
from bookkeeper_tx.model import DigestType, LedgerMetadata, Versioned, ledger_name
from protocol_specs import fields
from protocol_specs.ledger_id import split


async def open_ledger(
    context: ClientContext,
    ledger_id: int,
    password: bytes,
    digest_type: DigestType | None,
    rules: RecoveryRules = RULES,
) -> LedgerReader:
    """Recover the ledger unless it is closed; return its reader."""
    versioned, digest = await _read(context, ledger_id, password, digest_type)
    versioned = await Recovery(context, ledger_id, versioned, digest, rules).run()
    return LedgerReader(context, ledger_id, versioned, digest, fields.NO_ENTRY)


async def open_ledger_no_recovery(
    context: ClientContext, ledger_id: int, password: bytes, digest_type: DigestType | None
) -> LedgerReader:
    """Return a reader of the ledger as it is, up to the last add confirmed of now."""
    versioned, digest = await _read(context, ledger_id, password, digest_type)
    reader = LedgerReader(context, ledger_id, versioned, digest, fields.NO_ENTRY)
    try:
        await reader.read_last_add_confirmed()
    except BaseException:
        reader.close()
        raise
    return reader


async def _read(
    context: ClientContext, ledger_id: int, password: bytes, digest_type: DigestType | None
) -> tuple[Versioned, EntryDigest]:
    require_scope_on_the_wire(context, split(ledger_id)[0])
    password = require_password(password)
    if digest_type is not None:
        require_digest_type(digest_type)
    versioned: Versioned = await context.store.read_ledger(ledger_id)
    return versioned, _digest_of(ledger_id, versioned.metadata, password, digest_type)


def _digest_of(
    ledger_id: int, metadata: LedgerMetadata, password: bytes, digest_type: DigestType | None
) -> EntryDigest:
    if metadata.digest_type is None:
        if digest_type is None:
            raise InvalidArgument(
                f"ledger {ledger_name(ledger_id)}: its metadata names no digest type, so give digest_type"
            )
        return shared_digest(digest_type, password)
    if metadata.password is not None and metadata.password != password:
        raise Unauthorized(f"ledger {ledger_name(ledger_id)}: wrong password")
    if digest_type is not None and digest_type != metadata.digest_type:
        raise DigestMismatch(
            f"ledger {ledger_name(ledger_id)} is protected by {metadata.digest_type.name}, "
            f"it was opened with {digest_type.name}"
        )
    return shared_digest(metadata.digest_type, password)
