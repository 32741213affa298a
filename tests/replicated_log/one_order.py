"""What must hold of a log whatever happened to its writers: one order, no gap, nothing acknowledged lost."""

from collections.abc import Iterable

from bookkeeper_tx.replicated_log import DLSN, LogRecord


class Acknowledged:
    """What was acknowledged, and what was acknowledged before each write began."""

    def __init__(self) -> None:
        self.positions: dict[bytes, DLSN] = {}
        self.before: dict[bytes, DLSN] = {}
        self._last = DLSN(-1, -1)

    def begin(self, payload: bytes) -> None:
        """Note that a write begins."""
        self.before[payload] = self._last

    def end(self, payload: bytes, position: DLSN) -> None:
        """Note that a write was acknowledged."""
        self.positions[payload] = position
        self._last = max(self._last, position)


def check(records: list[LogRecord], acknowledged: Acknowledged, sent: Iterable[list[bytes]]) -> None:
    """Look whether the log is right; ``sent`` is what each writer was given, in its order."""
    positions = [each.dlsn for each in records]
    assert positions == sorted(set(positions))
    where = {each.payload: each.dlsn for each in records}
    assert len(where) == len(records)
    for payload, position in acknowledged.positions.items():
        assert where.get(payload) == position, payload
    for payload, position in where.items():
        assert acknowledged.before[payload] < position
    for payloads in sent:
        mine = set(payloads)
        found = [each.payload for each in records if each.payload in mine]
        assert found == payloads[: len(found)]
