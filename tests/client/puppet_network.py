"""A network of which a test can hold, reorder or lose every message.

Requests and replies are separate messages.  ``run`` delivers them in order, ``deliver`` delivers one of them.  ``lose``
turns one into a time-out; ``delay`` does so as well, and delivers the message later.
"""

from collections.abc import Callable

from attrs import define

from bookkeeper_tx.errors import BookKeeperError, RequestTimedOut


@define
class Message:
    """A message on its way; ``lost`` is called if it does not arrive, and ends the request."""

    text: str
    arrive: Callable[[], None]
    lost: Callable[[BookKeeperError], None]
    bookie_id: str | None = None
    """None for a message of the metadata store."""
    slow: Callable[[], None] = lambda: None
    """Tells who waits for it that it takes long."""


class Network:
    """Carries messages when the test says so."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._before_send: list[Callable[[], None]] = []

    @property
    def messages(self) -> list[Message]:
        """The messages on their way; looking at them ends a turn of the reactor."""
        calls, self._before_send = self._before_send, []
        for call in calls:
            call()
        return self._messages

    def before_send(self, call: Callable[[], None]) -> None:
        """Have ``call`` send its messages at the end of this turn."""
        self._before_send.append(call)

    def send(self, message: Message) -> None:
        self._messages.append(message)

    def deliver(self, index: int = 0) -> None:
        self.messages.pop(index).arrive()

    def lose(self, index: int = 0, error: BookKeeperError | None = None) -> None:
        self.messages.pop(index).lost(error or RequestTimedOut())

    def delay(self, index: int = 0, error: BookKeeperError | None = None) -> None:
        """Let the sender time out, but keep the message on its way."""
        self.messages[index].lost(error or RequestTimedOut())

    def slow(self, text: str) -> None:
        """Tell who waits for the first message with ``text`` in it that it takes long; it stays on its way."""
        self.messages[self.find(text)].slow()

    def run(self, until: Callable[[], bool] = lambda: False, steps_max: int = 100_000) -> None:
        """Deliver messages in order until none is left."""
        for _ in range(steps_max):
            if not self.messages or until():
                return
            self.deliver()
        raise AssertionError("messages without end")

    def deliver_until(self, text: str) -> int:
        """Deliver messages until there is one whose text has ``text`` in it; return its index."""
        while not any(text in each.text for each in self.messages):
            self.deliver()
        return self.find(text)

    def find(self, text: str) -> int:
        """Return the index of the first message whose text has ``text`` in it."""
        for index, message in enumerate(self.messages):
            if text in message.text:
                return index
        raise AssertionError(f"no message {text!r} among {[each.text for each in self.messages]}")


class AtOnce(Network):
    """Delivers each message before :meth:`send` has returned, as a server in the same process may."""

    def send(self, message: Message) -> None:
        message.arrive()
