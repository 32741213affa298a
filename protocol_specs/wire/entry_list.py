"""The list of entries: which entries of one ledger a bookie stores (``availability_of_entries_of_ledger``).

Consecutive entries are a *sequence*.  Sequences of one size at equal distances are a *group*.  A group says where its
first and its last sequence start, how many entries each has, and how far their starts are apart.
"""

from construct import Array, Bytes, Int32sb, Struct, this

from protocol_specs import fields

VERSION = 0
"""The only version; higher ones are refused."""

RESERVED_SIZE = 56

HEADER = Struct(
    "version" / Int32sb * "0",
    "group_count" / fields.count * "groups that follow",
    "reserved" / Bytes(RESERVED_SIZE) * "zeros; not looked at",
)
"""No reader looks at ``reserved``, which is zeros."""

HEADER_SIZE = HEADER.sizeof()

GROUP = Struct(
    "first_sequence_start" / fields.entry_id * "first entry of the first sequence",
    "last_sequence_start" / fields.entry_id * "first entry of the last sequence",
    "sequence_size" / Int32sb * "entries of each sequence",
    "sequence_period" / Int32sb * "from one start to the next; 0: a single sequence",
)
"""Entry e is listed if ``first <= e < last + size`` and ``(e - first) % period < size``.

A period of 0 belongs to a single sequence, whose first start is also its last.  Sequences of size 0 list nothing.
"""

GROUP_SIZE = GROUP.sizeof()

SEQUENCE_SIZE_MAX = 2**31 - 1
SEQUENCE_PERIOD_MAX = 2**31 - 1

ENTRY_LIST = Struct(*HEADER.subcons, "groups" / Array(this.group_count, GROUP) * "in the order of their entries")
"""The whole list; groups in the order of their entries.  Bytes after them are ignored."""
