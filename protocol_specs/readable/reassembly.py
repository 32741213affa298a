"""Reassembles the TCP segments of a capture into the bytes that each side of a connection sent."""

from bisect import bisect_left

from attrs import define, field, frozen

SEQUENCE_SPACE = 1 << 32


@frozen
class Address:
    """One end of a connection."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@frozen
class Segment:
    """One TCP segment."""

    number: int
    """Number of its packet in the capture, from 1."""
    time_s: float
    source: Address
    destination: Address
    sequence: int
    payload: bytes
    syn: bool = False
    ack: bool = False
    fin: bool = False
    rst: bool = False


@frozen
class Stretch:
    """Bytes without a hole that one side sent."""

    data: bytes
    missing: int | None
    """How many bytes the capture lacks before this; None if it lacks the start, so that their number is unknown."""
    ends: tuple[int, ...]
    """Where in ``data`` each segment ends."""
    segments: tuple[Segment, ...]

    def segment_at(self, end: int) -> Segment:
        """Return the segment that completed the first ``end`` bytes."""
        return self.segments[min(bisect_left(self.ends, end), len(self.segments) - 1)]


@define
class Half:
    """The bytes that one side of a connection sent, from segments in any order, some of them twice, some missing."""

    start: int | None = None
    """Sequence number of the first byte; None when the capture has no SYN of this side."""
    reset: Segment | None = None
    finished: bool = False
    _held: list[tuple[int, Segment]] = field(factory=list)
    _highest: int | None = None
    """The highest sequence number seen, unwrapped: it counts on where 32 bits start again at 0."""

    def add(self, segment: Segment) -> None:
        """Take a segment."""
        sequence = segment.sequence
        if segment.syn:
            self.start = self._highest = sequence = (sequence + 1) % SEQUENCE_SPACE
        if segment.rst:
            self.reset = segment
        self.finished = self.finished or segment.fin
        if not segment.payload:
            return
        at = self._unwrapped(sequence)
        self._highest = max(at, at if self._highest is None else self._highest)
        self._held.append((at, segment))

    def _unwrapped(self, sequence: int) -> int:
        if self._highest is None:
            return sequence
        half = SEQUENCE_SPACE // 2
        return self._highest + (sequence - self._highest + half) % SEQUENCE_SPACE - half

    def stretches(self) -> list[Stretch]:
        """Return the bytes in order; of bytes that came twice, the copy that came first."""
        found: list[Stretch] = []
        data, ends, segments = bytearray(), list[int](), list[Segment]()
        missing = 0 if self.start is not None else None
        position = self.start
        for at, segment in sorted(self._held, key=lambda held: held[0]):
            if position is None:
                position = at
            if at > position:
                if data:
                    found.append(Stretch(bytes(data), missing, tuple(ends), tuple(segments)))
                data, ends, segments, missing, position = bytearray(), [], [], at - position, at
            new = segment.payload[position - at :]
            if new:
                data += new
                position += len(new)
                ends.append(len(data))
                segments.append(segment)
        if data:
            found.append(Stretch(bytes(data), missing, tuple(ends), tuple(segments)))
        return found


@define
class Connection:
    """Both sides of one connection."""

    client: Address
    bookie: Address
    requests: Half = field(factory=Half)
    responses: Half = field(factory=Half)


class Reassembly:
    """All connections to the bookies of a capture, recognized by the bookies' ports."""

    def __init__(self, ports: tuple[int, ...]) -> None:
        self.connections: list[Connection] = []
        """In the order of their first packet."""
        self._ports = ports
        self._current: dict[tuple[Address, Address], Connection] = {}

    def add(self, segment: Segment) -> None:
        """Take a segment, if it went to a bookie or came from one."""
        if segment.destination.port in self._ports:
            self._connection(segment.source, segment.destination, segment).requests.add(segment)
        elif segment.source.port in self._ports:
            self._connection(segment.destination, segment.source, segment).responses.add(segment)

    def _connection(self, client: Address, bookie: Address, segment: Segment) -> Connection:
        connection = self._current.get((client, bookie))
        if connection is None or self._starts_another(connection, segment):
            connection = self._current[client, bookie] = Connection(client, bookie)
            self.connections.append(connection)
        return connection

    @staticmethod
    def _starts_another(connection: Connection, segment: Segment) -> bool:
        """Return whether a client has used its port again."""
        starts = segment.syn and not segment.ack
        return starts and connection.requests.start != (segment.sequence + 1) % SEQUENCE_SPACE
