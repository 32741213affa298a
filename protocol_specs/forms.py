"""The form that a message on the hot path may have besides a plain Struct."""

from io import BytesIO
from typing import Any

from construct import StreamError, Struct, stream_read


class LengthFirst(Struct):  # type: ignore[misc]
    """A Struct whose first field counts the bytes that follow it: a frame, a record.

    The other fields see only those bytes, so a message that is cut short is refused even when it ends in a tail that
    takes all bytes left.
    """

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        first = self.subcons[0]
        length = first._parsereport(stream, context, path)
        if length < 0:
            raise StreamError(f"negative length {length}", path=path)
        body = stream_read(stream, length, path)
        return super()._parse(BytesIO(first.build(length) + body), context, path)
