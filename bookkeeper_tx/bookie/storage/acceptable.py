"""What the ledger storage takes: bytes of clients that fit the ledger they are for."""

from bookkeeper_tx.bookie.storage.ledger import Ledger
from bookkeeper_tx.bookie.storage.ledger_index import explicit_lac_size_max
from bookkeeper_tx.entry.entry_format import V2
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import BadRequest
from bookkeeper_tx.model import ledger_name
from protocol_specs.codecs import Malformed
from protocol_specs.entry.version import explicit_lac_of
from protocol_specs.ledger_id import SCOPED_MIN


def check_scoped(run: EntryRun) -> None:
    """Raise BadRequest for an entry that is not what the run's ledger id, outside scope 0, says that it is."""
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
