"""An HTTP request of which no more than a small body is kept, and for which nobody waits for long."""

from io import BytesIO
from typing import Any, Final

from twisted.web.server import Request

BODY_BYTES_MAX: Final = 64 * 1024
"""Bytes of a body; the largest that an endpoint has a use for are some settings."""


class BoundedRequest(Request):
    """Keeps a body in memory, drops one that is too large as it comes, and tells the visit that it was answered."""

    is_too_large = False
    """Whether there was more of a body than is kept."""
    content: BytesIO

    def gotLength(self, length: int | None) -> None:
        self.content = BytesIO()
        self.is_too_large = length is not None and length > BODY_BYTES_MAX

    def handleContentChunk(self, data: bytes) -> None:
        if len(self.content.getvalue()) + len(data) > BODY_BYTES_MAX:
            self.is_too_large = True
        if not self.is_too_large:
            self.content.write(data)

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:
        self._visit.request_came()
        super().requestReceived(command, path, version)  # type: ignore[no-untyped-call]

    def finish(self) -> None:
        self._visit.wait_for_request()  # first: the next request may have come already, and begins in the next line
        super().finish()  # type: ignore[no-untyped-call]

    def wait_until_taken(self) -> None:
        """Have the client take the answer, which begins now, as soon as it would have to send the next request."""
        self._visit.wait_for_request()

    @property
    def is_gone(self) -> bool:
        """Whether the client has closed the connection."""
        return bool(self._disconnected)

    @property
    def _visit(self) -> Any:
        return self.transport
