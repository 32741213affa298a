"""The position of a record in a log."""

from typing import NamedTuple

from bookkeeper_tx.errors import InvalidArgument


class DLSN(NamedTuple):
    """The position of a record in a log, in the order of the log; its text is ``3:41``.

    It stays the same whatever happens to the log.  Once the record is truncated, it names nothing any more.
    """

    log_segment_sequence_no: int
    """Which of the log's ledgers it is in, counted from 0 over the whole life of the log."""
    entry_id: int
    """Which entry of that ledger it is."""

    @classmethod
    def parse(cls, text: str) -> "DLSN":
        """Return the position whose text this is; raises InvalidArgument."""
        sequence_no, colon, entry_id = text.partition(":")
        if not (colon and _is_number(sequence_no) and _is_number(entry_id)):
            raise InvalidArgument(f"{text!r} is no position: write the two numbers of one, as in 3:41")
        return cls(int(sequence_no), int(entry_id))

    def next(self) -> "DLSN":
        """Return the position from which a reader goes on that has the record of this one."""
        return DLSN(self.log_segment_sequence_no, self.entry_id + 1)

    def __str__(self) -> str:
        return f"{self.log_segment_sequence_no}:{self.entry_id}"


class LogRecord(NamedTuple):
    """One record as a reader gets it."""

    dlsn: DLSN
    """Where it is."""
    payload: bytes
    """What the writer wrote."""


def require_dlsn(dlsn: DLSN) -> DLSN:
    """Return ``dlsn`` if it is one; raises InvalidArgument."""
    if not isinstance(dlsn, DLSN) or min(dlsn) < 0:
        raise InvalidArgument(f"{dlsn!r} is no position of a log: it must be a DLSN, as DLSN.parse('3:41') gives it")
    return dlsn


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 19
