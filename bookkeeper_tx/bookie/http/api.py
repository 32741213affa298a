"""From an HTTP request to its endpoint and back, within the time that a request may take."""

from collections.abc import Coroutine
from typing import Any, Final

from twisted.internet import defer
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET

from bookkeeper_tx.bookie.http.administered import Administered
from bookkeeper_tx.bookie.http.answer import (
    FAILED,
    FORBIDDEN,
    METHOD_NOT_ALLOWED,
    NOT_FOUND,
    TOO_LARGE,
    UNAVAILABLE,
    Answer,
    Refused,
)
from bookkeeper_tx.bookie.http.bounded_request import BODY_BYTES_MAX, BoundedRequest
from bookkeeper_tx.bookie.http.call import Call
from bookkeeper_tx.bookie.http.paths import PATHS
from bookkeeper_tx.errors import BookKeeperError

METHODS: Final = ("GET", "PUT", "POST", "DELETE")
"""All that Java's endpoints are asked for; most of them answer 404 to some."""

ANSWER_TIMEOUT_S: Final = 30.0
"""How long an endpoint may take to answer."""

log = Logger()


class Api(Resource):
    """All endpoints of one bookie."""

    isLeaf = True

    def __init__(self, bookie: Administered, clock: IReactorTime) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._bookie = bookie
        self._clock = clock

    def render(self, request: BoundedRequest) -> int:
        """Answer ``request``, at once or later."""
        answering: Deferred[Answer] = Deferred.fromCoroutine(self._answer(request))
        answering.addTimeout(ANSWER_TIMEOUT_S, self._clock)
        answering.addErrback(_failed)
        gone: Deferred[Any] = request.notifyFinish()
        gone.addErrback(lambda _: answering.cancel())
        answering.addCallback(_reply, request)
        return NOT_DONE_YET

    def _answer(self, request: BoundedRequest) -> Coroutine[Any, Any, Answer]:
        method = request.method.decode("latin-1")
        endpoint = PATHS.get(request.path.decode("latin-1").rstrip("/"))
        if endpoint is None:
            return _refused(Answer("Resource not found", NOT_FOUND))
        if method not in METHODS:
            request.responseHeaders.setRawHeaders("allow", [",".join(METHODS)])
            return _refused(Answer("", METHOD_NOT_ALLOWED))
        if request.is_too_large:
            return _refused(Answer(f"a body has at most {BODY_BYTES_MAX} bytes", TOO_LARGE))
        if method != "GET" and request.requestHeaders.hasHeader("origin"):
            return _refused(Answer("a page in a browser may change nothing here", FORBIDDEN))
        if method != "GET":
            log.info("HTTP {method} {uri} of {client}", method=method, uri=request.uri, client=request.client)
        # Of a parameter that comes twice the last one counts, as with Java.
        parameters = {_text(name): _text(values[-1]) for name, values in request.args.items()}
        return endpoint(Call(method, parameters, _text(request.content.getvalue())), self._bookie)


async def _refused(answer: Answer) -> Answer:
    return answer


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _failed(failure: Failure) -> Answer:
    error = failure.value
    if isinstance(error, Refused):
        return error.answer
    if isinstance(error, defer.TimeoutError | defer.CancelledError):
        return Answer(f"no answer within {ANSWER_TIMEOUT_S:g} s", UNAVAILABLE)
    if isinstance(error, BookKeeperError | OSError):
        log.error("an HTTP request has failed: {error}", error=error)
        return Answer(str(error), FAILED)
    log.failure("an HTTP request has failed", failure)
    return Answer("Internal Server Error", FAILED)


def _reply(answer: Answer, request: BoundedRequest) -> None:
    if request.is_gone:
        return
    request.setResponseCode(answer.status)
    headers = request.responseHeaders
    headers.setRawHeaders("content-type", [answer.content_type])
    # What a ledger holds must not become a page of a browser.
    headers.setRawHeaders("x-content-type-options", ["nosniff"])
    body = answer.body.encode("utf-8", "replace")
    headers.setRawHeaders("content-length", [str(len(body))])
    request.write(body)  # type: ignore[no-untyped-call]
    request.finish()
