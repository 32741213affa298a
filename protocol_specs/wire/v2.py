"""Every V2 request and reply, without the frame length (see ``framing``) unless the name says FRAME.

Messages on the hot path have one form: a run of fixed fields, then at most one tail of ``wire.tails.TAILS``.
Readers ignore bytes after a request, as Java does: trailing bytes never make a request wrong.
"""

from construct import GreedyBytes, Struct

from protocol_specs import fields
from protocol_specs.forms import LengthFirst
from protocol_specs.wire.tails import Ignored, KeyIfFencing, Records

ADD_REQUEST = Struct(
    "header" / fields.packet_header * "operation 1; flags 2 recovery add, 4 high priority",
    "master_key" / fields.master_key * "of the ledger; always there",
    "ledger_id" / fields.ledger_id * "the first field of the entry",
    "entry_id" / fields.entry_id * "0 or more",
    "rest_of_entry" / GreedyBytes * "last add confirmed, length, digest, payload",
)
"""The entry starts at ``ledger_id``: a request has no ids of its own."""

ADD_REPLY = Struct(
    "header" / fields.packet_header * "version and operation of the request, flags 0",
    "status" / fields.status * "return code",
    "ledger_id" / fields.ledger_id * "as in the request",
    "entry_id" / fields.entry_id * "as in the request",
    "ignored" / Ignored * "nothing is sent here; readers skip any bytes",
)

READ_REQUEST = Struct(
    "header" / fields.packet_header * "operation 2; flags 1 fencing, 4 high priority",
    "ledger_id" / fields.ledger_id * "the ledger",
    "entry_id" / fields.entry_id * "-1: the last entry that this bookie stores",
    "master_key" / KeyIfFencing * "only with the fencing flag, from version 2 on",
)

READ_REPLY = Struct(
    "header" / fields.packet_header * "version and operation of the request, flags 0",
    "status" / fields.status * "return code",
    "ledger_id" / fields.ledger_id * "as in the request",
    "entry_id" / fields.entry_id * "as in the request, -1 included",
    "entry" / GreedyBytes * "as stored; nothing unless the status is 0",
)
"""``entry`` is the entry as stored, empty unless ``status`` is 0.  The ids echo the request, LAST_ENTRY included."""

BATCH_READ_REQUEST = Struct(
    "header" / fields.packet_header * "operation 7; flags 1 fencing, 4 high priority",
    "ledger_id" / fields.ledger_id * "the ledger",
    "start_entry_id" / fields.entry_id * "the first entry wanted",
    "request_id" / fields.request_id * "any number; comes back in the reply",
    "max_count" / fields.count * "0 or less: no limit",
    "max_size" / fields.size * "bytes of the reply; 0 or less: one entry",
    "master_key" / KeyIfFencing * "only with the fencing flag, from version 2 on",
)

BATCH_READ_REPLY = Struct(
    "header" / fields.packet_header * "version and operation of the request, flags 0",
    "status" / fields.status * "return code",
    "ledger_id" / fields.ledger_id * "as in the request",
    "start_entry_id" / fields.entry_id * "as in the request",
    "request_id" / fields.request_id * "as in the request, in errors too",
    "entries" / Records * "consecutive ones, each after its length; none unless the status is 0",
)

AUTH = Struct(
    "header" / fields.packet_header * "operation 3",
    "message" / GreedyBytes * "an AuthMessage (protobuf), without a length of its own",
)
"""Request and reply: ``message`` is an AuthMessage of ``v3.proto`` without a length; the reply has no status."""

# Frames: the same declarations after their length word, for the loops that walk many frames in one buffer.

FRAME_LENGTH = "length" / fields.frame_length * "bytes that follow"

FRAME_START = Struct(FRAME_LENGTH, "header" / fields.packet_header * "its operation says which fields follow")
ADD_REQUEST_FRAME = LengthFirst(FRAME_LENGTH, *ADD_REQUEST.subcons)
ADD_REPLY_FRAME = LengthFirst(FRAME_LENGTH, *ADD_REPLY.subcons)
READ_REQUEST_FRAME = LengthFirst(FRAME_LENGTH, *READ_REQUEST.subcons)
READ_REPLY_FRAME = LengthFirst(FRAME_LENGTH, *READ_REPLY.subcons)
BATCH_READ_REQUEST_FRAME = LengthFirst(FRAME_LENGTH, *BATCH_READ_REQUEST.subcons)
BATCH_READ_REPLY_FRAME = LengthFirst(FRAME_LENGTH, *BATCH_READ_REPLY.subcons)
AUTH_FRAME = LengthFirst(FRAME_LENGTH, *AUTH.subcons)
