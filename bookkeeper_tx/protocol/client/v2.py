"""Protocol version V2 as a client speaks it: requests out, completions in; no IO, no clock (docs/protocol/v2.md)."""

from collections.abc import Callable, Sequence
from typing import Any

from bookkeeper_tx.entry.entry_format import ENTRY_IDS
from bookkeeper_tx.entry.frame_runs import numbered
from bookkeeper_tx.errors import (
    BookKeeperError,
    IllegalOperation,
    ProtocolViolation,
)
from bookkeeper_tx.protocol.client.completion import Completion, RangeRead
from bookkeeper_tx.protocol.client.connection import ClientConnection
from bookkeeper_tx.protocol.client.requests.request import Request
from bookkeeper_tx.protocol.client.slow_requests import Tell
from bookkeeper_tx.protocol.client.v2_add_runs import add_requests
from bookkeeper_tx.protocol.client.v2_bulk_adds import AddRun
from bookkeeper_tx.protocol.client.v2_waiting import ADD_HEADER, READ_HEADER, WaitingRequests
from bookkeeper_tx.protocol.frame_buffer import FrameBuffer
from bookkeeper_tx.protocol.v2_frames import (
    ADD_OVERHEAD,
    ADD_REQUEST_PREFIX,
    BATCH_READ_REPLY,
    LENGTH,
    READ_REQUEST,
)
from protocol_specs import codecs
from protocol_specs.codecs import Malformed
from protocol_specs.ledger_id import SCOPED_MIN, qualified_name

_pack_prefix = ADD_REQUEST_PREFIX.pack_fixed
_unpack_length = codecs.RECORD_LENGTH.unpack_fixed
_IDS_SIZE = ENTRY_IDS.size
_REQUEST_IDS_AT = READ_REQUEST.offsets["ledger_id"]
"""Where ledger id and entry id start in a request to read."""


class V2ClientConnection(ClientConnection):
    """A client's side of a V2 connection."""

    def __init__(self, frame_size_max: int) -> None:
        self._frames = FrameBuffer(frame_size_max)
        # A batch reply may exceed the limit that the bookie counts by its header.
        self._frames.frame_size_max += BATCH_READ_REPLY.size
        self._waiting = waiting = WaitingRequests()
        self._adds, self._bulk_adds, self._reads = waiting.adds, waiting.bulk_adds, waiting.reads
        self._ranges, self._batches = waiting.ranges, waiting.batches
        self._next_request_id = 1
        self._outgoing: list[bytes] = []
        self._undelivered: list[Completion] = []
        """The completions of replies that came before bytes that break the protocol."""
        self.answered: float | None = None
        self.read_answered: float | None = None

    # Requests --------------------------------------------------------------------------------------------------------

    def add_entry(
        self,
        token: Any,
        deadline: float,
        ledger_id: int,
        entry_id: int,
        entry: bytes,
        master_key: bytes,
        flags: int = 0,
    ) -> None:
        if ledger_id >= SCOPED_MIN:
            self._refuse(token, out_of_reach(ledger_id))
            return
        self._adds.add(entry[:_IDS_SIZE], token, deadline)
        self._outgoing += _pack_prefix(ADD_OVERHEAD + len(entry), ADD_HEADER | flags, master_key), entry

    def add_entries(
        self, token: Any, deadline: float, ledger_id: int, first: int, entries: Sequence[bytes], master_key: bytes
    ) -> None:
        """Ask to add consecutive ``entries``, as sealed by a digest; completes as they are answered.

        That is with the id up to which all entries are acknowledged, whenever it has grown.  From the first error on it
        is with the ids of the entries that were acknowledged, or that have the error, until each is answered once.
        """
        if ledger_id >= SCOPED_MIN:
            self._refuse(token, out_of_reach(ledger_id))
            return
        self._bulk_adds.add(ledger_id, AddRun(token, deadline, first, len(entries)))
        self._outgoing.append(add_requests(master_key, entries))

    def read_entry(
        self,
        token: Any,
        deadline: float,
        ledger_id: int,
        entry_id: int,
        flags: int = 0,
        master_key: bytes | None = None,
    ) -> None:
        if ledger_id >= SCOPED_MIN:
            self._refuse(token, out_of_reach(ledger_id))
            return
        key = master_key or b""
        length = READ_REQUEST.size - LENGTH + len(key)
        request = READ_REQUEST.pack_fixed(length, READ_HEADER | flags, ledger_id, entry_id)
        self._reads.add(request[_REQUEST_IDS_AT:], token, deadline)
        self._outgoing.append(request + key if key else request)

    def read_range(
        self, token: Any, deadline: float, ledger_id: int, first: int, last: int, size_max: int | None = None
    ) -> None:
        if ledger_id >= SCOPED_MIN:
            self._refuse(token, out_of_reach(ledger_id))
            return
        count = last - first + 1
        self._ranges.add(RangeRead(token, deadline, ledger_id, first, count, size_max))
        request = READ_REQUEST.pack_fixed(READ_REQUEST.size - LENGTH, READ_HEADER, ledger_id, first)
        self._outgoing.append(numbered(request, READ_REQUEST.offsets["entry_id"], first, count))

    def send(self, request: Request, token: Any, deadline: float) -> Callable[[], object]:
        if request.ledger_id >= SCOPED_MIN:
            return self._refuse(token, out_of_reach(request.ledger_id))
        if not request.in_v2:
            return self._refuse(token, IllegalOperation(f"V2 has no {request.operation.name}: it takes V3"))
        request_id = self._next_request_id
        self._next_request_id = request_id + 1
        self._batches.add(request_id, (token, request), deadline)
        self._outgoing.append(request.v2_frame(request_id))
        return lambda: self._batches.pop(request_id)

    def data_to_send(self) -> bytes:
        if not self._outgoing:
            return b""
        data = b"".join(self._outgoing)
        self._outgoing.clear()
        return data

    def _refuse(self, token: Any, error: IllegalOperation) -> Callable[[], object]:
        completion = (token, error, None)
        self._waiting.refused.append(completion)

        def forget() -> None:
            if completion in self._waiting.refused:
                self._waiting.refused.remove(completion)

        return forget

    # Replies ---------------------------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> list[Completion]:
        done = self._undelivered
        tables, read = self._waiting.tables, self._waiting.read
        for table in tables:
            table.answered = None
        try:
            buffer = self._frames.feed(data)
            position, end = 0, len(buffer)
            while end - position >= LENGTH:
                length = self._frames.check(_unpack_length(buffer, position)[0])
                if position + LENGTH + length > end:
                    break
                position = read(buffer, position, end, position + LENGTH + length, done)
            self._frames.keep(buffer, position)
        except Malformed as error:
            raise ProtocolViolation(str(error)) from error
        self.answered = min((each.answered for each in tables if each.answered is not None), default=None)
        self.read_answered = None if self.answered is None else self._waiting.read_answered
        self._undelivered = []
        return done

    @property
    def unfinished(self) -> bool:
        return self._frames.frame_size > 0

    # Time and end ----------------------------------------------------------------------------------------------------

    @property
    def waiting(self) -> bool:
        return bool(self._waiting)

    @property
    def reading(self) -> bool:
        return self._waiting.reading

    def tell_slow(self, deadline: float, tell: Tell) -> float:
        return self._waiting.tell_slow(deadline, tell)

    def expire(self, now: float) -> list[Completion]:
        return self._waiting.expire(now)

    def fail_all(self, error: BookKeeperError) -> list[Completion]:
        done, self._undelivered = self._undelivered, []
        return done + self._waiting.fail_all(error)


def out_of_reach(ledger_id: int) -> IllegalOperation:
    """Return the error of a request about a ledger of a scope other than 0, which V2 cannot name."""
    return IllegalOperation(
        f"ledger {qualified_name(ledger_id)} has a scope, which V2 cannot say: use ClientConfig.protocol v3"
    )
