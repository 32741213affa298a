"""V3 frames, read for people (docs/protocol/v3.md)."""

from collections.abc import Callable

from google.protobuf.message import DecodeError, Message

from protocol_specs.codecs import Malformed
from protocol_specs.readable import meanings
from protocol_specs.readable.entry import read_entry, read_explicit_lac
from protocol_specs.readable.entry_list import read_entry_list
from protocol_specs.readable.protobuf import Inside, MessageReader
from protocol_specs.readable.shown import Direction, Sheet
from protocol_specs.readable.verdicts import Verdicts
from protocol_specs.wire import framing, status, v3_pb2
from protocol_specs.wire.operations import V3Operation

_Reader = Callable[[Sheet, bytes, int, int, Verdicts], None]

KINDS: dict[Direction, type[Message]] = {"request": v3_pb2.Request, "response": v3_pb2.Response}


def is_v3(direction: Direction, body: bytes) -> bool:
    """Return whether the body of a frame is V3: it parses, and no required field is missing."""
    return parsed(direction, body) is not None


def parsed(direction: Direction, body: bytes) -> Message | None:
    """Return the message in the body of a frame, None if the frame is not V3."""
    if not body or body[0] < framing.V3_FIRST_BYTE_MIN:
        return None
    message = KINDS[direction]()
    try:
        message.ParseFromString(body)
    except DecodeError:
        return None
    return message if message.IsInitialized() else None


def starts_tls(message: Message | None) -> bool:
    """Return whether TLS may follow this message: a request to start it, or a response that agrees."""
    if not isinstance(message, v3_pb2.Request | v3_pb2.Response):
        return False
    agreed = isinstance(message, v3_pb2.Request) or message.status == status.EOK.v3
    return agreed and int(message.header.operation) == V3Operation.START_TLS


class V3Frames:
    """Reads V3 frames."""

    def __init__(self, verdicts: Verdicts) -> None:
        self.failed_inside: Malformed | None = None
        """The error of an entry, a LAC or a list inside the last frame that was read, None if there is none."""
        self._verdicts = verdicts
        entry, explicit_lac = self._inside(read_entry), self._inside(read_explicit_lac)
        say = {**meanings.V3, "master_key": verdicts.key}
        inside: dict[str, Inside] = {
            "AddRequest.body": entry,
            "ReadResponse.body": entry,
            "BatchReadResponse.body": entry,
            "ReadLacResponse.last_entry_body": entry,
            "WriteLacRequest.body": explicit_lac,
            "ReadLacResponse.lac_body": explicit_lac,
            "GetListOfEntriesOfLedgerResponse.availability_of_entries_of_ledger": self._inside(
                lambda sheet, data, start, end, _: read_entry_list(sheet, data, start, end)
            ),
        }
        self._messages = MessageReader(say, inside)

    def read(self, sheet: Sheet, direction: Direction, data: bytes, start: int, end: int) -> str:
        """Read the frame body ``data[start:end]`` into ``sheet`` and return its operation.

        Raises :class:`Malformed` where the body breaks.  An error inside a field of bytes leaves the frame whole, and
        is kept in :attr:`failed_inside`.
        """
        self.failed_inside = None
        message = self._messages.read(sheet, KINDS[direction], data, start, end)
        assert isinstance(message, v3_pb2.Request | v3_pb2.Response)
        return V3Operation(message.header.operation).name

    def read_auth(self, sheet: Sheet, data: bytes, start: int, end: int) -> None:
        """Read the AuthMessage that a V2 AUTH packet carries; raises :class:`Malformed`."""
        self._messages.read(sheet, v3_pb2.AuthMessage, data, start, end)

    def _inside(self, read: _Reader) -> Inside:
        def reading(sheet: Sheet, data: bytes, start: int, end: int) -> None:
            try:
                read(sheet, data, start, end, self._verdicts)
            except Malformed as error:
                self.failed_inside = self.failed_inside or error
                sheet.add_unreadable(error, end)

        return reading
