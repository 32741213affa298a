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
from bookkeeper_tx.bookie.http.origin import is_loopback, is_of_a_page, names_another_host
from bookkeeper_tx.bookie.http.paths import CHANGING_GETS, LARGE, PATHS, Endpoint
from bookkeeper_tx.bookie.http.reply import reply
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
        self._is_local = is_loopback(bookie.config.http_server_host)

    def render(self, request: BoundedRequest) -> int:
        """Answer ``request``, at once or later."""
        answering: Deferred[Answer] = Deferred.fromCoroutine(self._answer(request))
        answering.addTimeout(ANSWER_TIMEOUT_S, self._clock)
        answering.addErrback(_failed)
        gone: Deferred[Any] = request.notifyFinish()
        gone.addErrback(lambda _: answering.cancel())
        answering.addCallback(reply, request)
        return NOT_DONE_YET

    def _answer(self, request: BoundedRequest) -> Coroutine[Any, Any, Answer]:
        method = request.method.decode("latin-1")
        if self._is_local and names_another_host(request.requestHeaders):
            return _refused(Answer("only requests to localhost, or to an address of it, are answered here", FORBIDDEN))
        endpoint = PATHS.get(request.path.decode("latin-1").rstrip("/"))
        if endpoint is None:
            return _refused(Answer("Resource not found", NOT_FOUND))
        if method not in METHODS:
            request.responseHeaders.setRawHeaders("allow", [",".join(METHODS)])
            return _refused(Answer("", METHOD_NOT_ALLOWED))
        if request.is_too_large:
            return _refused(Answer(f"a body has at most {BODY_BYTES_MAX} bytes", TOO_LARGE))
        if (method != "GET" or endpoint in CHANGING_GETS) and is_of_a_page(request.requestHeaders):
            return _refused(Answer("a page in a browser may change nothing here", FORBIDDEN))
        if method != "GET":
            log.info("HTTP {method} {uri} of {client}", method=method, uri=request.uri, client=request.client)
        # Of a parameter that comes twice the last one counts, as with Java.
        parameters = {_text(name): _text(values[-1]) for name, values in request.args.items()}
        call = Call(method, parameters, _text(request.content.getvalue()))
        return self._in_turn(endpoint, call, request) if endpoint in LARGE else endpoint(call, self._bookie)

    async def _in_turn(self, endpoint: Endpoint, call: Call, request: BoundedRequest) -> Answer:
        """Answer when there are few that are answered, of which this is one until all was sent or nobody takes it."""
        large = self._bookie.large
        await large.acquire()
        sent: Deferred[Any] = request.notifyFinish()
        sent.addBoth(lambda _: large.release())
        return await endpoint(call, self._bookie)


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
