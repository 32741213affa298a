"""Where scripted bookies listen."""

from __future__ import annotations

import itertools
import re

from attrs import define, field

_FORM = re.compile(r"(?P<host>\[[^]]+\]|[^:]+)(?::(?P<first>\d+)-(?P<last>\d+))?")
_PORT_MAX = 65535


@define
class ListenAddress:
    """A host, and the ports that may be used, in turn; any free port if none are given."""

    host: str = "127.0.0.1"
    first_port: int = 0
    last_port: int = 0
    _turns: itertools.count[int] = field(factory=itertools.count)

    @classmethod
    def parse(cls, text: str) -> ListenAddress:
        """``host`` or ``host:first-last``.  Raises ValueError."""
        found = _FORM.fullmatch(text)
        first, last = (int(found[name] or 0) for name in ("first", "last")) if found else (0, 0)
        if found is None or last > _PORT_MAX or last < first or (found["first"] and not first):
            raise ValueError(f"{text!r}: write a host, or a host and ports as in 127.0.0.1:40000-40099")
        return cls(found["host"].strip("[]"), first, last)

    def ports(self) -> list[int]:
        """The ports to try for the next bookie, the one whose turn it is first; 0 is any."""
        if not self.first_port:
            return [0]
        count = self.last_port - self.first_port + 1
        turn = next(self._turns) % count
        return [self.first_port + (turn + step) % count for step in range(count)]
