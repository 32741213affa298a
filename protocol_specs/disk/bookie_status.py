"""The file ``BOOKIE_STATUS`` of every ledger directory: whether the bookie was read-only, kept over a restart.

One line: layout version, mode, milliseconds since the epoch, and whether an operator has made the bookie read-only.
Java writes the fourth field since 4.17.3; by a line of three a bookie stays read-only until an
operator changes that.  Of several directories the newest line counts.
"""

from typing import Final, NamedTuple

from protocol_specs.codecs import Malformed

FILE_NAME = "BOOKIE_STATUS"

LAYOUT_VERSION = 1

READ_ONLY = "READ_ONLY"
READ_WRITE = "READ_WRITE"

FIELDS: Final = ("layoutVersion", "mode", "updatedAtMs", "manual")
"""In the order written, with commas between them."""


class BookieStatus(NamedTuple):
    """The content of the file."""

    read_only: bool
    updated_at_ms: int
    """Milliseconds since the epoch."""
    manual: bool = False
    """Whether an operator has made the bookie read-only, so that only an operator makes it writable again."""


def build(status: BookieStatus) -> bytes:
    """Return the bytes of the file, as Java's ``BookieStatus`` writes them."""
    mode = READ_ONLY if status.read_only else READ_WRITE
    return f"{LAYOUT_VERSION},{mode},{status.updated_at_ms},{str(status.manual).lower()}\n".encode()


def parse(data: bytes) -> BookieStatus:
    """Read the first line of ``data``; raises Malformed, for another layout version as well."""
    parts = data.split(b"\n", 1)[0].decode("ascii", "replace").rstrip("\r").split(",")
    if len(parts) not in (3, 4) or parts[0].strip() != str(LAYOUT_VERSION):
        raise Malformed("bookie status", FIELDS[0], 0, f"{data[:40]!r} is no line of version {LAYOUT_VERSION}")
    if parts[1] not in (READ_ONLY, READ_WRITE):
        raise Malformed("bookie status", FIELDS[1], 2, f"{parts[1]!r} is no mode")
    try:
        updated_at_ms = int(parts[2])
    except ValueError:
        raise Malformed("bookie status", FIELDS[2], 0, f"{parts[2]!r} is not a number") from None
    manual = len(parts) == 3 or parts[3].strip().lower() == "true"
    return BookieStatus(parts[1] == READ_ONLY, updated_at_ms, manual)
