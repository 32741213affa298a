"""Ledger ids as callers give them: an integer, a LedgerId, or two halves (BP-34, docs/guides/client.md)."""

from random import Random

from bookkeeper_tx.client.context import ClientContext
from bookkeeper_tx.config import WireProtocol
from bookkeeper_tx.errors import IllegalOperation, InvalidArgument
from bookkeeper_tx.model import LedgerId, check_ledger_id, ledger_name
from protocol_specs import ledger_id as ids

_RANDOM_BITS = 63
"""Bits of a random ledger id within a scope: it is never negative, and two are equal less often than disks lie."""


def require_ledger_id(ledger_id: int, scope_id: int = 0) -> int:
    """Return the one id of a ledger, a LedgerId unless its scope is 0; raise InvalidArgument if it is not valid."""
    require_scope_id(scope_id)
    if not scope_id:
        check_ledger_id(ledger_id)
        return LedgerId(ledger_id) if ledger_id >= ids.SCOPED_MIN else int(ledger_id)
    if not isinstance(ledger_id, int) or isinstance(ledger_id, bool):
        raise InvalidArgument(f"ledger_id {ledger_id!r} of scope {scope_id} must be an integer")
    if ledger_id >= ids.SCOPED_MIN:
        raise InvalidArgument(f"ledger_id {ledger_name(ledger_id)} names its scope already, so give no scope_id")
    return LedgerId(ledger_id, scope_id)


def require_scope_id(scope_id: int) -> None:
    """Raise InvalidArgument unless ``scope_id`` is a signed 64-bit integer."""
    if not isinstance(scope_id, int) or isinstance(scope_id, bool) or not -(2**63) <= scope_id < 2**63:
        raise InvalidArgument(f"scope_id {scope_id!r} must be an integer from {-(2**63)} to {2**63 - 1}")


def require_scope_on_the_wire(context: ClientContext, scope_id: int) -> None:
    """Raise IllegalOperation for a scope other than 0 in a client of protocol V2, which has no place for one."""
    if scope_id and context.config.protocol is WireProtocol.V2:
        raise IllegalOperation(
            f"ledgers of scope {scope_id} are out of reach of protocol V2, which knows scope 0 only: "
            "make the client with ClientConfig(protocol=WireProtocol.V3)"
        )


async def new_ledger_id(context: ClientContext, random: Random, scope_id: int) -> int:
    """Return an id for a new ledger: the generator's next one in scope 0, a random one in any other scope."""
    if scope_id:
        return LedgerId(random.getrandbits(_RANDOM_BITS), scope_id)
    return await context.store.new_ledger_id()
