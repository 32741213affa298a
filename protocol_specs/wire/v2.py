"""Every V2 request and reply, without the frame length (see ``framing``) unless the name says FRAME.

Hot messages keep to one form: a run of fixed fields, then at most one tail out of ``protocol_specs.codecs.TAILS``.
Requests end in an ignored rest, as in Java: trailing bytes never make a request wrong.
"""

from construct import GreedyBytes, Struct

from protocol_specs import fields
from protocol_specs.forms import LengthFirst
from protocol_specs.tails import IGNORED, KeyIfFencing, Records

ADD_REQUEST = Struct(
    "header" / fields.packet_header,
    "master_key" / fields.master_key,
    "ledger_id" / fields.ledger_id,
    "entry_id" / fields.entry_id,
    "rest_of_entry" / GreedyBytes,
)
"""The entry starts at ``ledger_id``: a request has no ids of its own."""

ADD_REPLY = Struct(
    "header" / fields.packet_header,
    "status" / fields.status,
    "ledger_id" / fields.ledger_id,
    "entry_id" / fields.entry_id,
    "ignored" / IGNORED,
)

READ_REQUEST = Struct(
    "header" / fields.packet_header,
    "ledger_id" / fields.ledger_id,
    "entry_id" / fields.entry_id,
    "master_key" / KeyIfFencing,
)

READ_REPLY = Struct(
    "header" / fields.packet_header,
    "status" / fields.status,
    "ledger_id" / fields.ledger_id,
    "entry_id" / fields.entry_id,
    "entry" / GreedyBytes,
)
"""``entry`` is the entry as stored, empty unless ``status`` is 0.  The ids echo the request, LAST_ENTRY included."""

BATCH_READ_REQUEST = Struct(
    "header" / fields.packet_header,
    "ledger_id" / fields.ledger_id,
    "start_entry_id" / fields.entry_id,
    "request_id" / fields.request_id,
    "max_count" / fields.count,
    "max_size" / fields.size,
    "master_key" / KeyIfFencing,
)

BATCH_READ_REPLY = Struct(
    "header" / fields.packet_header,
    "status" / fields.status,
    "ledger_id" / fields.ledger_id,
    "start_entry_id" / fields.entry_id,
    "request_id" / fields.request_id,
    "entries" / Records,
)

AUTH = Struct(
    "header" / fields.packet_header,
    "message" / GreedyBytes,
)
"""Request and reply: ``message`` is an AuthMessage of ``v3.proto`` without a length; the reply has no status."""

# Frames: the same declarations behind their length word, for the loops that walk many frames in one buffer.

FRAME_START = Struct("length" / fields.frame_length, "header" / fields.packet_header)
ADD_REQUEST_FRAME = LengthFirst("length" / fields.frame_length, *ADD_REQUEST.subcons)
ADD_REPLY_FRAME = LengthFirst("length" / fields.frame_length, *ADD_REPLY.subcons)
READ_REQUEST_FRAME = LengthFirst("length" / fields.frame_length, *READ_REQUEST.subcons)
READ_REPLY_FRAME = LengthFirst("length" / fields.frame_length, *READ_REPLY.subcons)
BATCH_READ_REQUEST_FRAME = LengthFirst("length" / fields.frame_length, *BATCH_READ_REQUEST.subcons)
BATCH_READ_REPLY_FRAME = LengthFirst("length" / fields.frame_length, *BATCH_READ_REPLY.subcons)
AUTH_FRAME = LengthFirst("length" / fields.frame_length, *AUTH.subcons)
