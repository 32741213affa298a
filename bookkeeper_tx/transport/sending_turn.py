"""One system call for all replies that a client gets at once, such as those to the adds of one journal group."""

from collections.abc import Callable

from twisted.logger import Logger


class SendingTurn:
    """While it is entered, connections keep their replies; then each sends its own, together.

    One object for all connections of a bookie; it is not entered twice at once.
    """

    __slots__ = ("_senders", "is_open")

    _log = Logger()

    def __init__(self) -> None:
        self.is_open = False
        self._senders: list[Callable[[], None]] = []

    def at_end(self, send: Callable[[], None]) -> None:
        """Call ``send`` at the end of the turn, which has begun."""
        self._senders.append(send)

    def __enter__(self) -> None:
        self.is_open = True

    def __exit__(self, *_: object) -> None:
        self.is_open = False
        senders, self._senders = self._senders, []
        for send in senders:
            try:
                send()
            except Exception:
                self._log.failure("the replies of a client were not sent")
