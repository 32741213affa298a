"""Ledger metadata, the record of one ledger: the same bytes in every kind of metadata store.

Each of the three forms starts with an ASCII line that names it.  Form 1 (releases 4.0 and 4.1) is lines of
tab-separated text, form 2 (the default up to 4.9) is protobuf text, form 3 (since 4.9, the default since 4.14) is a
length-prefixed protobuf message.  An update keeps the form that the ledger has.  The message is LedgerMetadata of
``formats.proto``.
"""

from construct import Const, GreedyBytes, NullTerminated, Prefixed, Struct, VarInt

VERSION_KEY = b"BookieMetadataFormatVersion\t"
VERSION_END = b"\n"

RECORD = Struct(
    "version_key" / Const(VERSION_KEY) * "`BookieMetadataFormatVersion` and a tab",
    "format_version" / NullTerminated(GreedyBytes, term=VERSION_END) * "1, 2 or 3 in decimal ASCII, then a line feed",
    "body" / GreedyBytes * "depends on the form",
)
"""``format_version`` is decimal ASCII of at most :data:`VERSION_DIGITS_MAX` digits; ``body`` depends on it."""

TEXT_LINES = 1
TEXT_PROTOBUF = 2
BINARY_PROTOBUF = 3
FORMAT_VERSIONS = (TEXT_LINES, TEXT_PROTOBUF, BINARY_PROTOBUF)

BINARY_BODY = Prefixed(VarInt, GreedyBytes)
"""The body of form 3; bytes after the message are ignored, as in Java's ``LedgerMetadataSerDe``."""

VERSION_DIGITS_MAX = 9

RECORD_SIZE_MAX = 16 * 1024 * 1024
"""ZooKeeper refuses records above ``jute.maxbuffer``: 1 MiB by default, a few MiB in clusters that raise it.  A larger
record is no ledger metadata, and parsing it would only use up memory."""

# Form 1: write quorum size, ensemble size and length, a line each; a line for each fragment: first entry id and
# bookies, separated by tabs; then, unless the ledger is open, a line of the last entry id and CLOSED_TAG.  There is no
# newline at the end.
CLOSED_TAG = "CLOSED"
IN_RECOVERY_LAST_ENTRY = -102
"""Stands in the place of the last entry id, before CLOSED_TAG, when the ledger is not closed but in recovery."""

CREATE_TOKEN_BITS = 63
"""A create attempt draws its token from [0, 2^63)."""

UPDATE_TOKEN = 0
"""Every update writes this in the place of the create token, in form 3 only."""

TEXT_ESCAPES = {
    0x07: rb"\a",
    0x08: rb"\b",
    0x09: rb"\t",
    0x0A: rb"\n",
    0x0B: rb"\v",
    0x0C: rb"\f",
    0x0D: rb"\r",
    0x5C: rb"\\",
    0x27: rb"\'",
    0x22: rb"\"",
}
"""Form 2: how Java up to 4.17 writes these bytes in a quoted string; others outside 0x20 to 0x7e become three octal
digits.  Java 4.18 writes 0x07 and 0x0b so too.  A reader takes any escape of protobuf text."""
