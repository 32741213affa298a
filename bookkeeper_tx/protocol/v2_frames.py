"""The frames of V2, as both sides of a connection read and write them (docs/protocol/v2.md)."""

from construct import Struct

from protocol_specs import codecs, fields
from protocol_specs.entry import v1
from protocol_specs.wire import framing, v2

ADD_REQUEST = codecs.derive("add request", v2.ADD_REQUEST_FRAME)
ADD_REPLY = codecs.derive("add reply", v2.ADD_REPLY_FRAME)
READ_REQUEST = codecs.derive("read request", v2.READ_REQUEST_FRAME)
READ_REPLY = codecs.derive("read reply", v2.READ_REPLY_FRAME)
BATCH_READ_REQUEST = codecs.derive("batch read request", v2.BATCH_READ_REQUEST_FRAME)
BATCH_READ_REPLY = codecs.derive("batch read reply", v2.BATCH_READ_REPLY_FRAME)

ADD_REQUEST_HEAD = codecs.Codec(
    "add request up to the last add confirmed",
    Struct(*codecs.leading(ADD_REQUEST.declaration, "rest_of_entry").subcons, v1.ENTRY_METADATA.subcons[2]),
)
ADD_REQUEST_PREFIX = codecs.Codec("add request up to the entry", codecs.leading(ADD_REQUEST.declaration, "ledger_id"))
ADD_REPLY_HEAD = codecs.Codec("add reply up to the ids", codecs.leading(ADD_REPLY.declaration, "ledger_id"))

LENGTH = framing.FRAME.length.sizeof()
ENTRY_AT = ADD_REQUEST.offsets["ledger_id"]
"""Where the entry starts in the frame of an add request."""
ADD_OVERHEAD = ENTRY_AT - LENGTH
ADD_LENGTH_MIN = ADD_OVERHEAD + fields.ENTRY_SIZE_MIN
"""A shorter add will be refused, so it becomes a run of its own."""
REPLY_LENGTH = ADD_REPLY.size - LENGTH
BATCH_REPLY_SIZE = BATCH_READ_REPLY.size
"""Bytes of a batch reply beside its records that a bookie counts towards ``max_size``, in V3 as in V2, as Java's
``BatchedReadEntryProcessor``."""
BATCH_REPLY_LENGTH = BATCH_REPLY_SIZE - LENGTH
