"""The tails that a message on the hot path may end in.

The set is closed.  Each tail is a construct, and refuses the same bytes as the codec derived from it.
"""

from typing import Any

from construct import Construct, GreedyBytes, StreamError, stream_read_entire, stream_tell, stream_write

from protocol_specs import fields
from protocol_specs.wire import framing, operations

FENCING = operations.Flag.FENCING.value
WITH_KEY_FROM = framing.join_header(framing.VERSION_WITH_KEY, 0)
WITH_KEY_BEFORE = framing.join_header(framing.VERSION_SIGN, 0)


class KeyIfFencingTail(Construct):  # type: ignore[misc]
    """A master key if the request has the fencing flag and a version that carries keys; bytes after it are ignored."""

    def _parse(self, stream: Any, context: Any, path: str) -> bytes | None:
        rest: bytes = stream_read_entire(stream, path)
        return self.take(context.header, rest, path)

    @staticmethod
    def expected(header: int) -> bool:
        """Return whether a request with this packet header carries a key."""
        return WITH_KEY_FROM <= header < WITH_KEY_BEFORE and bool(header & FENCING)

    def take(self, header: int, rest: bytes, path: str) -> bytes | None:
        if not self.expected(header):
            return None
        if len(rest) < fields.MASTER_KEY_SIZE:
            raise StreamError(f"fencing request without its {fields.MASTER_KEY_SIZE} bytes of master key", path=path)
        return rest[: fields.MASTER_KEY_SIZE]

    def wrong(self, header: int, key: bytes | None) -> str:
        """Say what is wrong with ``key`` in a request with this packet header, if anything.

        A request that needs no key may carry one, which no reader looks at.
        """
        if len(key or b"") == fields.MASTER_KEY_SIZE or (not key and not self.expected(header)):
            return ""
        return f"a master key has {fields.MASTER_KEY_SIZE} bytes, and every fencing request one"

    def _build(self, obj: bytes | None, stream: Any, context: Any, path: str) -> bytes | None:
        key = obj or b""
        if wrong := self.wrong(context.header, key):
            raise StreamError(wrong, path=path)
        stream_write(stream, key, len(key), path)
        return obj


class RecordsTail(Construct):  # type: ignore[misc]
    """Byte strings, each after its int32 length, up to the end; a negative or overrunning length is an error."""

    def _parse(self, stream: Any, context: Any, path: str) -> list[bytes]:
        start = stream_tell(stream, path)
        rest: bytes = stream_read_entire(stream, path)
        records, offset = [], 0
        while offset < len(rest):
            if offset + 4 > len(rest):
                raise StreamError(f"record length cut short at {start + offset}", path=path)
            length = fields.record_length.parse(rest[offset : offset + 4])
            offset += 4
            if length < 0 or offset + length > len(rest):
                raise StreamError(f"record of {length} bytes at {start + offset} overruns", path=path)
            records.append(rest[offset : offset + length])
            offset += length
        return records

    def _build(self, obj: list[bytes], stream: Any, context: Any, path: str) -> list[bytes]:
        for record in obj:
            data = fields.record_length.build(len(record)) + record
            stream_write(stream, data, len(data), path)
        return obj


class IgnoredTail(Construct):  # type: ignore[misc]
    """Bytes that no reader looks at; built as nothing."""

    def _parse(self, stream: Any, context: Any, path: str) -> None:
        stream_read_entire(stream, path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> None:
        return None


KeyIfFencing = KeyIfFencingTail()
Records = RecordsTail()
Ignored = IgnoredTail()
Rest = GreedyBytes

TAILS = (Rest, KeyIfFencing, Records, Ignored)
