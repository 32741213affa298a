"""The process of the driver: requests from standard input, replies to standard output.

Each request is a line on standard input, its reply a line on standard output (docs/conformance/driver.md).  Requests
begin in the order of their lines, and are answered as they end.  When standard input ends, the process ends too, and
closes no ledger.
"""

import os
import sys
import threading
from typing import Any, TextIO

from twisted.internet.defer import Deferred

from bookkeeper_tx.testing.conformance_driver.lines import Request, error_line, reply_line
from bookkeeper_tx.testing.conformance_driver.session import Session


async def answer(session: Session, line: str, replies: TextIO) -> None:
    """Carry out the request of a line and write its reply."""
    request = Request(line)
    try:
        reply = reply_line(request.number, await session.run(request))
    except Exception as error:  # every error is reported to the suite
        reply = error_line(request.number, error)
    replies.write(reply)
    replies.flush()


def main() -> None:
    """Serve until standard input ends."""
    from twisted.internet import reactor

    replies, sys.stdout = sys.stdout, sys.stderr  # other output must not stand between the replies
    session = Session(reactor)
    begin: Any = reactor.callFromThread  # type: ignore[attr-defined]

    def start(line: str) -> None:
        Deferred.fromCoroutine(answer(session, line, replies))

    def listen() -> None:
        for line in sys.stdin:
            begin(start, line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    reactor.run()


if __name__ == "__main__":
    main()
