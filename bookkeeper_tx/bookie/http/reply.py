"""An answer on its way to the client: a large one goes as fast as it is taken, and is kept nowhere else meanwhile."""

from typing import Any, Final

from twisted.internet.interfaces import IPushProducer
from zope.interface import implementer

from bookkeeper_tx.bookie.http.answer import Answer
from bookkeeper_tx.bookie.http.bounded_request import BoundedRequest

PIECE_BYTES: Final = 64 * 1024
"""Bytes that are written at once."""


def reply(answer: Answer, request: BoundedRequest) -> None:
    """Send ``answer`` to the client of ``request``, which is finished when all of it was handed to the connection."""
    if request.is_gone:
        return
    request.setResponseCode(answer.status)
    headers = request.responseHeaders
    headers.setRawHeaders("content-type", [answer.content_type])
    # What a ledger holds must not become a page of a browser.
    headers.setRawHeaders("x-content-type-options", ["nosniff"])
    body = answer.body if isinstance(answer.body, bytes) else answer.body.encode("utf-8", "replace")
    headers.setRawHeaders("content-length", [str(len(body))])
    request.wait_until_taken()
    if len(body) > PIECE_BYTES:
        _Body(body, request).begin()
    else:
        request.write(body)  # type: ignore[no-untyped-call]
        request.finish()


@implementer(IPushProducer)
class _Body:
    """Writes ``body`` piece by piece, while the connection takes it."""

    def __init__(self, body: bytes, request: BoundedRequest) -> None:
        self._left = memoryview(body)
        self._request: Any = request
        self._paused = False

    def begin(self) -> None:
        self._request.registerProducer(self, True)
        self._write()

    def pauseProducing(self) -> None:
        self._paused = True

    def resumeProducing(self) -> None:
        self._paused = False
        self._write()

    def stopProducing(self) -> None:
        self._left = memoryview(b"")

    def _write(self) -> None:
        while self._left and not self._paused:
            piece, self._left = bytes(self._left[:PIECE_BYTES]), self._left[PIECE_BYTES:]
            self._request.write(piece)
            if not self._left:
                self._request.unregisterProducer()
                self._request.finish()
