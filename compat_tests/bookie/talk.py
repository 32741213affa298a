"""The attempt of a case of the bookie role: connections to a bookie, and checks of its replies."""

from types import TracebackType
from typing import Self

from compat_tests.judge.attempt import Attempt, Brief, as_text
from compat_tests.judge.case import Dialect
from compat_tests.judge.verdict import Mismatch
from compat_tests.targets.sites import READ_ONLY, OwnBookie, Site
from compat_tests.wire.line import Line
from compat_tests.wire.replies import ConnectionClosed, Reply, Silence
from compat_tests.wire.requests import Requests
from protocol_specs.wire.operations import PARTS, V3Operation
from protocol_specs.wire.status import ENOLEDGER, EOK, Status

MAIN, BYSTANDER = "main", "bystander"


class Talk(Attempt):
    """A case's conversation with one bookie; a context manager that closes its connections.

    ``requests`` builds frames of the protocol version that the case is run in.
    """

    def __init__(self, brief: Brief, site: Site) -> None:
        super().__init__(brief)
        self.site = site
        self.requests = Requests(self.dialect)
        self._lines: dict[str, Line] = {}
        self._bystander: tuple[int, Line] | None = None

    # Connections -----------------------------------------------------------------------------------------------------

    @property
    def main(self) -> Line:
        """The connection that is used when none is named."""
        return self.line(MAIN)

    def line(self, name: str) -> Line:
        """The connection of this name, made when it is first asked for."""
        if name not in self._lines:
            address = (self.site.host, self.site.port)
            self._lines[name] = Line.to(address, name, self.recording, self.deadline, self.brief.stopped)
        return self._lines[name]

    def drop_lines(self) -> None:
        """Close all connections; those asked for afterwards are new."""
        for line in self._lines.values():
            line.close()
        self._lines.clear()

    # Asking ----------------------------------------------------------------------------------------------------------

    def ask(self, frame: bytes, on: Line | None = None) -> Reply:
        """Send a request and return its reply.  Raises Mismatch if there is none, or it is that of another request."""
        return self.expect_reply((on or self.main).ask(frame))

    def answer(self, frame: bytes, on: Line | None = None) -> Reply:
        """The reply to a request that was sent before, whatever comes before it."""
        return self.expect_reply((on or self.main).receive_for(frame))

    def expect(self, frame: bytes, status: Status, on: Line | None = None, **fields: object) -> Reply:
        """Send a request; require this status, and these fields of the :class:`.Reply`, or of its part."""
        return self.check_reply(self.ask(frame, on), status, **fields)

    def expect_answer(self, frame: bytes, status: Status, on: Line | None = None, **fields: object) -> Reply:
        """Require this status, and these fields, of the reply to a request that was sent before."""
        return self.check_reply(self.answer(frame, on), status, **fields)

    def check_reply(self, reply: Reply, status: Status, **fields: object) -> Reply:
        """Compare the status and fields of a reply; ``None`` for a field of the part means that it is absent."""
        if reply.status is not status:
            raise Mismatch("status", status.name, str(reply))
        if reply.part is not None and hasattr(reply.part, "status"):
            self.check("whether the part has a status", reply.part.HasField("status"), True)
            self.check("status of the part", reply.part.status, status.v3)
        if reply.dialect is Dialect.V3:
            self._check_parts(reply, status)
        for name, expected in fields.items():
            self.check(name, _field(reply, name), expected)
        return reply

    def _check_parts(self, reply: Reply, status: Status) -> None:
        """A reply has the part of its operation, if any; only a refusal may do without."""
        names = [field.name for field, _ in reply.message.ListFields() if field.name.endswith("_response")]
        parts = PARTS.get(V3Operation(reply.operation))
        if parts is not None and (names or status is EOK):
            self.check("the parts of the reply", names, [parts.response])

    def expect_reply(self, outcome: Reply | ConnectionClosed | Silence) -> Reply:
        """Require that an outcome is a reply."""
        if not isinstance(outcome, Reply):
            raise Mismatch("the reply", "a reply", str(outcome))
        return outcome

    # What becomes of a connection ------------------------------------------------------------------------------------

    def expect_closed(self, on: Line, *frames: bytes) -> None:
        """Send frames, if any, and require that the connection is closed, or reset, without another reply."""
        if frames:
            on.send(*frames)
        outcome = on.receive()
        if not isinstance(outcome, ConnectionClosed):
            raise Mismatch("the connection", "closed without a reply", str(outcome))
        self.check("what came before the end", on.unread, b"")

    def expect_silence(self, on: Line, for_s: float = 0.3) -> None:
        """Require that nothing comes for so long, and that the connection stays."""
        outcome = on.receive(for_s)
        if not isinstance(outcome, Silence):
            raise Mismatch("the connection", f"nothing for {for_s:.1f} s", str(outcome))
        self.check("what came meanwhile", on.unread, b"")

    def expect_open(self, on: Line | None = None) -> None:
        """Require that the connection is still served."""
        self.expect(self.requests.read(self.new_ledger(), 0), ENOLEDGER, on)

    # ---------------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Have the bystander served: a client that does nothing wrong, and must come to no harm."""
        ledger_id, line = self.new_ledger(), self.line(BYSTANDER)
        self._bystander = ledger_id, line
        if self.brief.case.site == READ_ONLY:
            self.expect(self.requests.read(ledger_id, 0), ENOLEDGER, line)
        else:
            self.expect(self.requests.add(ledger_id, 0), EOK, line)

    def finish(self) -> None:
        """Have the bystander served again: its entry is read, or is absent as before."""
        if self._bystander is None:
            return
        ledger_id, line = self._bystander
        try:
            status = ENOLEDGER if self.brief.case.site == READ_ONLY else EOK
            self.expect(self.requests.read(ledger_id, 0), status, line)
        except Mismatch as wrong:
            raise Mismatch(f"a client beside this one: {wrong.what}", wrong.expected, wrong.seen) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.drop_lines()


class OwnTalk(Talk):
    """With a bookie of its own, which it may stop, kill and start again; connections are new afterwards."""

    def __init__(self, brief: Brief, bookie: OwnBookie) -> None:
        super().__init__(brief, bookie)
        self.bookie = RestartedBookie(self, bookie)


class RestartedBookie:
    """The bookie of a case's own, as the case sees it."""

    def __init__(self, talk: Talk, bookie: OwnBookie) -> None:
        self._talk, self._bookie = talk, bookie

    def start(self) -> None:
        """Start it again."""
        self._note("started")
        self._bookie.start()

    def stop(self) -> None:
        """End it in order."""
        self._end("stopped in order")
        self._bookie.stop()

    def kill(self) -> None:
        """End it at once."""
        self._end("killed")
        self._bookie.kill()

    def restart(self) -> None:
        """End it in order and start it again."""
        self.stop()
        self.start()

    def crash(self) -> None:
        """End it at once and start it again."""
        self.kill()
        self.start()

    def _end(self, how: str) -> None:
        self._talk.drop_lines()
        self._note(how)

    def _note(self, what: str) -> None:
        self._talk.recording.note("", f"the bookie is {what}")


def _field(reply: Reply, name: str) -> object:
    if hasattr(reply, name):
        return getattr(reply, name)
    if reply.dialect is Dialect.V2 or reply.part is None:
        raise Mismatch(name, "a field of the reply", f"none: {as_text(reply)}")
    value = getattr(reply.part, name)
    try:
        return value if reply.part.HasField(name) else None
    except ValueError:
        return value  # a repeated field is never absent
