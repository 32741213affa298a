"""Creating a ledger."""

from collections.abc import Mapping
from random import Random
from types import NoneType
from typing import TypeVar

from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.client.deferred_sync import require_deferred_sync
from bookkeeper_tx.client.ensemble import choose_ensemble
from bookkeeper_tx.client.ledger_ids import (
    new_ledger_id,
    require_ledger_id,
    require_scope_id,
    require_scope_on_the_wire,
)
from bookkeeper_tx.client.write_handle import WriteHandle
from bookkeeper_tx.client.writers_metadata import created
from bookkeeper_tx.entry.digest import shared_digest
from bookkeeper_tx.errors import InvalidArgument, LedgerExists
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.quorums.quorum import Quorum
from protocol_specs.ledger_id import split

Handle = TypeVar("Handle", bound=WriteHandle)


async def create_ledger(
    make_handle: type[Handle],
    context: ClientContext,
    random: Random,
    quorum: Quorum,
    digest_type: DigestType,
    password: bytes,
    custom_metadata: Mapping[str, bytes] | None,
    ledger_id: int | None = None,
    scope_id: int = 0,
    deferred_sync: bool = False,
) -> Handle:
    """Choose an ensemble, take an id and store the metadata; return the writer.

    Raises NotEnoughBookies, LedgerExists if this ``ledger_id`` is taken, IllegalOperation for a scoped ledger or
    deferred sync over V2 and LedgerScopeNotSupported when too few bookies know scopes.
    """
    require_scope_id(scope_id)
    if ledger_id is not None:
        ledger_id = require_ledger_id(ledger_id, scope_id)
        scope_id = split(ledger_id)[0]
    require_scope_on_the_wire(context, scope_id)
    if deferred_sync:
        require_deferred_sync(context.config)
    require_digest_type(digest_type)
    password = require_password(password)
    custom_metadata = require_custom_metadata(custom_metadata)
    ensemble = await choose_ensemble(context, quorum.ensemble_size, scope_id)
    now_s = context.driver.epoch_s()
    metadata = created(quorum, ensemble, digest_type, password, custom_metadata, now_s, random)
    while True:
        chosen_id = await new_ledger_id(context, random, scope_id) if ledger_id is None else ledger_id
        try:
            versioned = await context.store.create_ledger(chosen_id, metadata)
        except LedgerExists:
            if ledger_id is None:
                continue
            raise
        return make_handle(context, chosen_id, versioned, shared_digest(digest_type, password), deferred_sync)


def require_digest_type(digest_type: DigestType) -> None:
    """Raise InvalidArgument unless ``digest_type`` is a DigestType."""
    if not isinstance(digest_type, DigestType):
        raise InvalidArgument(f"digest_type {digest_type!r} must be one of {', '.join(map(str, DigestType))}")


def require_password(password: bytes) -> bytes:
    """Return ``password`` as bytes; raise InvalidArgument for anything else, without showing it."""
    if not isinstance(password, (bytes, bytearray, memoryview)):
        raise InvalidArgument(f"password must be bytes, not {type(password).__name__}")
    return bytes(password)


def require_custom_metadata(custom_metadata: Mapping[str, bytes] | None) -> dict[str, bytes]:
    """Return ``custom_metadata`` as a dict, empty for None; raise InvalidArgument unless it maps text to bytes."""
    if not isinstance(custom_metadata, (Mapping, NoneType)):
        raise InvalidArgument(f"custom_metadata must map text to bytes, not be {type(custom_metadata).__name__}")
    checked = dict(custom_metadata or {})
    for key, value in checked.items():
        if not isinstance(key, str) or not isinstance(value, bytes):
            raise InvalidArgument(
                f"custom_metadata must map text to bytes, {key!r} maps {type(key).__name__} to {type(value).__name__}"
            )
    return checked
