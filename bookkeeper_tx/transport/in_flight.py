"""A request that may be given up, and that may be told that it is slow."""

from collections.abc import Callable
from typing import Any

from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.protocol.client.slow_requests import tell_slow
from bookkeeper_tx.transport.client_link import Done


class InFlight:
    """A request in flight, or given up."""

    __slots__ = ("done", "forget", "over")

    def __init__(self, done: Done) -> None:
        self.done: Done | None = done
        """None once it has ended."""
        self.forget: Callable[[], object] | None = None
        """Withdraws the request; set once there is something to withdraw."""
        self.over: Callable[[], object] | None = None
        """Called at the end, before all else."""

    def finished(self, error: BookKeeperError | None, value: Any) -> None:
        done, self.done = self.done, None
        if self.over is not None:
            self.over()
        if done is not None:
            done(error, value)

    def slow(self) -> None:
        """The bookie takes long; see :func:`tell_slow`."""
        if self.done is not None:
            self.done = tell_slow(self.done)

    def cancel(self) -> None:
        done, self.done = self.done, None
        if done is not None and self.forget is not None:
            self.forget()
