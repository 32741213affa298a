"""What an operation expects of the connection of its client."""

from collections.abc import Callable, Sequence
from typing import Protocol

from bookkeeper_tx.protocol.bookie.requests import Buffer, Replied, Request
from protocol_specs.wire.status import Status


class Connection(Protocol):
    """One client, as long as it is there.  Bounds on a client count by this object."""

    @property
    def connected_to_client(self) -> bool:
        """Whether a reply could still arrive."""

    def reply(self, request: Request, status: Status, reply: Sequence[Buffer]) -> None:
        """Send ``reply``, the parts of what answers ``request``; does nothing when the client has gone.

        ``status`` is what the reply says: of a run of reads the first one that is not EOK, if there is one.
        """

    def observe(self, request: Request, replied: Replied) -> None:
        """Call ``replied`` when ``request`` is answered.

        A run of reads that is answered in parts is another request after the first part.
        """

    def serve_next(self, request: Request) -> None:
        """Serve ``request``, the rest of one, before all that came after it, when the client has taken its replies."""

    def end_next(self, end: Callable[[], None]) -> None:
        """Call ``end``, which ends a request, when the client has taken its replies, also while others are paused.

        It is called at once if the client has gone.
        """

    def call_when_lost(self, function: Callable[[], None]) -> None:
        """Call ``function`` when the connection is lost; at once if it was."""

    def pause(self) -> None:
        """Stop reading and serving requests until :meth:`resume` was called as often."""

    def resume(self) -> None: ...

    def stop_reading(self) -> None:
        """Read no more until :meth:`read_on` was called as often; requests that were read are served."""

    def read_on(self) -> None: ...
