"""What may be stored: the one place that says so, for ledgers, entries and the explicit last add confirmed.

:func:`is_whole` and :data:`EXPLICIT_LAC_SIZE_MAX` are looked at before a ledger is opened, so that a request without
sense makes no ledger.  The rest is looked at by the ledger storage, after the key and the fence.  The readers of both
protocol versions give an add that is not whole a run of its own: its refusal must not take others with it.
"""

from operator import sub
from typing import Final

from bookkeeper_tx.bookie.storage.ledger import Ledger
from bookkeeper_tx.bookie.storage.ledger_index import explicit_lac_size_max
from bookkeeper_tx.entry.entry_format import V1, V2
from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE, EntryRun
from bookkeeper_tx.errors import BadRequest
from bookkeeper_tx.model import ledger_name
from protocol_specs import fields
from protocol_specs.codecs import Malformed
from protocol_specs.entry.version import explicit_lac_of
from protocol_specs.ledger_id import SCOPED_MIN

INDEXED_ENTRY_ID_MAX: Final = 2**40 - 1
"""The location of a higher entry would lie beyond what file systems let a file grow to (ext4: 16 TiB)."""

EXPLICIT_LAC_SIZE_MAX: Final = 256
"""Ledger id, last add confirmed and the largest digest take 45 bytes; the body has to fit the index header."""

_RECORD_SIZE_MIN = RECORD_LENGTH_SIZE + V1.entry_size_min


def check_ledger(ledger_id: int, master_key: bytes) -> None:
    """Raise BadRequest for a new ledger that no index can hold."""
    if ledger_id < 0:
        raise BadRequest(f"ledger id {ledger_id} is negative")
    if len(master_key) > fields.MASTER_KEY_SIZE:
        raise BadRequest(f"a master key has {fields.MASTER_KEY_SIZE} bytes, not {len(master_key)}")


def is_whole(run: EntryRun) -> bool:
    """Tell whether every entry of ``run`` has an id, and room for its last add confirmed.

    A negative id would be read as a special record at replay.
    """
    if run.first_entry_id < 0:
        return False
    offsets = run.offsets
    if type(offsets) is range:
        return offsets.step >= _RECORD_SIZE_MIN
    smallest: int = min(map(sub, offsets[1:], offsets))
    return smallest >= _RECORD_SIZE_MIN


def check_ids(run: EntryRun) -> None:
    """Raise BadRequest for entries whose ids no index can hold."""
    first, last = run.first_entry_id, run.last_entry_id
    if first < 0 or last > INDEXED_ENTRY_ID_MAX:
        name = ledger_name(run.ledger_id)
        raise BadRequest(f"entry ids {first} to {last} of ledger {name}; 0 to {INDEXED_ENTRY_ID_MAX} can be stored")


def check_format(run: EntryRun) -> None:
    """Raise BadRequest for an entry that is not what the id of its ledger, outside scope 0, says that it is."""
    if run.ledger_id < SCOPED_MIN:
        return
    for entry in run:
        if len(entry) < V2.entry_size_min or not V2.is_of(run.ledger_id, entry):
            name = ledger_name(run.ledger_id)
            raise BadRequest(f"an entry of ledger {name} is of format V2 and has {V2.entry_size_min} bytes or more")


def explicit_last_add_confirmed(ledger: Ledger, body: bytes) -> int:
    """Return the last add confirmed in ``body``, that of a WRITE_LAC request.

    Raises BadRequest if it is none of this ledger, or does not fit the header of the index.
    """
    size_max = explicit_lac_size_max(ledger.master_key)
    if len(body) > size_max:
        raise BadRequest(f"explicit last add confirmed of {len(body)} bytes; {size_max} can be stored")
    try:
        ledger_id, last_add_confirmed = explicit_lac_of(body)
    except Malformed as error:
        raise BadRequest(str(error)) from error
    if ledger_id != ledger.ledger_id and max(ledger_id, ledger.ledger_id) >= SCOPED_MIN:
        found, wanted = ledger_name(ledger_id), ledger_name(ledger.ledger_id)
        raise BadRequest(f"explicit last add confirmed of ledger {found}, not of {wanted}")
    return last_add_confirmed
