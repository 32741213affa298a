"""The numbers of V3 that ``v3.proto`` itself cannot name."""

from enum import IntFlag

from protocol_specs.wire import v3_pb2

VERSION = v3_pb2.VERSION_THREE
"""The version of every header that is served; replies of the served operations carry it too."""

PRIORITY_HIGH = 100
"""The priority that clients send to be served ahead of others; a bookie only checks whether it is above 0."""

REPLY_OVERHEAD_MAX = 128
"""An upper limit of a reply's bytes beside its entry, entries or list: seven numbers of up to 10 bytes, the status
twice, tags and lengths."""


class BookieInfo(IntFlag):
    """Bits of ``GetBookieInfoRequest.requested``."""

    TOTAL_DISK_CAPACITY = 1
    FREE_DISK_SPACE = 2


class WriteFlag(IntFlag):
    """Bits of ``AddRequest.write_flags``; unknown ones are ignored."""

    DEFERRED_SYNC = 1


REQUEST_CONTEXT_TAG = v3_pb2.Request(request_context=[v3_pb2.ContextPair()]).SerializePartialToString()[:-1]
"""The bytes before the length of a pair of the request context."""
