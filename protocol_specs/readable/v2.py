"""V2 frames, read for people (docs/protocol/v2.md)."""

from typing import Any

from protocol_specs import codecs, fields
from protocol_specs.codecs import Codec, Malformed
from protocol_specs.entry import v1
from protocol_specs.readable import meanings
from protocol_specs.readable.entry import read_entry
from protocol_specs.readable.fixed import read_fixed
from protocol_specs.readable.shown import Direction, Sheet
from protocol_specs.readable.v3 import V3Frames
from protocol_specs.readable.verdicts import Verdicts
from protocol_specs.wire import framing, status, tails, v2
from protocol_specs.wire.operations import Operation

_HEADER = codecs.derive("V2 packet", codecs.leading(v2.ADD_REPLY, "status"))
_ADD_REQUEST = codecs.derive("V2 add request", codecs.leading(v2.ADD_REQUEST, "ledger_id"))
_ENTRY_IDS = codecs.derive("entry ids", codecs.leading(v1.ENTRY_IDS, "rest"))

_CODECS: dict[tuple[Direction, int], Codec] = {
    ("request", Operation.READ_ENTRY): codecs.derive("V2 read request", v2.READ_REQUEST),
    ("request", Operation.BATCH_READ_ENTRY): codecs.derive("V2 batch read request", v2.BATCH_READ_REQUEST),
    ("response", Operation.ADD_ENTRY): codecs.derive("V2 add reply", v2.ADD_REPLY),
    ("response", Operation.READ_ENTRY): codecs.derive("V2 read reply", v2.READ_REPLY),
    ("response", Operation.BATCH_READ_ENTRY): codecs.derive("V2 batch read reply", v2.BATCH_READ_REPLY),
}


class V2Frames:
    """Reads V2 frames."""

    def __init__(self, verdicts: Verdicts, v3_frames: V3Frames) -> None:
        self.failed_inside: Malformed | None = None
        """The error of an entry inside the last frame that was read, None if there is none."""
        self._verdicts = verdicts
        self._v3_frames = v3_frames
        self._say = {**meanings.V2, "master_key": verdicts.key}

    def read(self, sheet: Sheet, direction: Direction, data: bytes, start: int, end: int) -> str:
        """Read the frame body ``data[start:end]`` into ``sheet`` and return its operation.

        Raises :class:`Malformed` where the body breaks, and for an operation that no bookie decodes.  An error inside
        an entry leaves the frame whole, and is kept in :attr:`failed_inside`.
        """
        self.failed_inside = None
        (header,) = self._header(data, start, end)
        operation = framing.split_header(header)[1]
        codec = _CODECS.get((direction, operation))
        if operation == Operation.AUTH:
            self._read_auth(sheet, data, start, end)
        elif codec is not None:
            values = read_fixed(sheet, codec, data, start, end, self._say)
            self._read_tail(sheet, codec, values, data, start + codec.size, end)
        elif operation == Operation.ADD_ENTRY:
            read_fixed(sheet, _ADD_REQUEST, data, start, end, self._say)
            self._read_entry(sheet, "entry", data, start + _ADD_REQUEST.size, end, must_have_ids=True)
        else:
            sheet.add("header", start, _HEADER.size, header, meanings.header(header))
            reason = f"unknown operation {operation}: a bookie closes the connection"
            raise Malformed("V2 packet", "header", start, reason)
        return meanings.operation_name(operation)

    @staticmethod
    def _header(data: bytes, start: int, end: int) -> tuple[Any, ...]:
        return _HEADER.unpack_from(data, start, end)

    def _read_auth(self, sheet: Sheet, data: bytes, start: int, end: int) -> None:
        read_fixed(sheet, _HEADER, data, start, end, self._say)
        at = start + _HEADER.size
        with sheet.part("message", at, end - at, "AuthMessage") as message:
            self._v3_frames.read_auth(message, data, at, end)

    def _read_tail(self, sheet: Sheet, codec: Codec, values: dict[str, Any], data: bytes, at: int, end: int) -> None:
        if codec.tail is tails.KeyIfFencing and tails.KeyIfFencing.expected(values["header"]):
            key = data[at : min(at + fields.MASTER_KEY_SIZE, end)]
            if len(key) < fields.MASTER_KEY_SIZE:
                reason = f"a fencing request has {fields.MASTER_KEY_SIZE} bytes of key, this one {len(key)}"
                raise Malformed(codec.name, "master_key", at, reason)
            sheet.add("master_key", at, len(key), key, self._verdicts.key(key))
            at += len(key)
        elif codec.tail is tails.Records:
            self._read_records(sheet, codec, data, at, end)
            return
        elif codec.tail is tails.Rest and at < end and values["status"] == status.EOK.v2:
            self._read_entry(sheet, codec.tail_name, data, at, end)
            return
        if at < end:
            sheet.add("ignored", at, end - at, data[at:end], "not looked at")

    def _read_records(self, sheet: Sheet, codec: Codec, data: bytes, at: int, end: int) -> None:
        index, length_codec = 0, codecs.RECORD_LENGTH
        while at < end:
            (length,) = length_codec.unpack_from(data, at, end)
            body = at + length_codec.size
            with sheet.part(f"entries[{index}]", at, min(length_codec.size + max(length, 0), end - at)) as record:
                read_fixed(record, length_codec, data, at, end, {})
                if length < 0 or body + length > end:
                    raise Malformed(codec.name, "entries", at, f"record of {length} bytes, there are {end - body}")
                self._read_entry(record, "entry", data, body, body + length)
            at = body + length
            index += 1

    def _read_entry(
        self, sheet: Sheet, name: str, data: bytes, start: int, end: int, must_have_ids: bool = False
    ) -> None:
        with sheet.part(name, start, end - start) as part:
            try:
                read_entry(part, data, start, end, self._verdicts)
            except Malformed as error:
                if must_have_ids and end - start < _ENTRY_IDS.size:
                    raise  # a bookie that looks for the ids here closes the connection
                self.failed_inside = self.failed_inside or error
                part.add_unreadable(error, end)
