"""Whether entries in an entry log match their digests."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import DigestMismatch
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.spark.entrylog.scan import Ints, Records
from protocol_specs import codecs
from protocol_specs.entry import v2
from protocol_specs.ledger_id import join

_WORD = codecs.RECORD_LENGTH.size
_TYPES = {each.value.number: each for each in DigestType}


class LogDigests:
    """Checks the entries of one log.

    Logs of scope 0 do not say which type a digest has; in logs of other scopes each entry does.  A MAC cannot be
    checked without the password of its ledger.
    """

    def __init__(self, scoped: bool, digest_type: DigestType) -> None:
        self._scoped = scoped
        self._digests: dict[DigestType, EntryDigest | None] = {
            each: None if each is DigestType.MAC else EntryDigest(each, b"") for each in DigestType
        }
        self._type = digest_type

    def verdicts(
        self, records: Records, entry: NDArray[np.bool_], scopes: Ints, ledgers: Ints, entries: Ints
    ) -> pa.Array:
        """Return for each record whether it is good; null for a record that is no entry or cannot be checked."""
        found: list[bool | None] = [None] * len(entry)
        for index in np.flatnonzero(entry).tolist():
            start = int(records.starts[index]) - records.base
            data = records.buffer[start + _WORD : start + int(records.sizes[index])]
            ledger_id = join(int(scopes[index]), int(ledgers[index]))
            found[index] = self._verdict(ledger_id, int(entries[index]), data)
        return pa.array(found, pa.bool_())

    def _verdict(self, ledger_id: int, entry_id: int, data: bytes) -> bool | None:
        kind = _TYPES.get(data[0] & v2.DIGEST_MASK) if self._scoped else self._type
        if kind is None:
            return False
        digest = self._digests[kind]
        if digest is None:
            return None
        try:
            digest.verify(ledger_id, entry_id, data)
        except DigestMismatch:
            return False
        return True
