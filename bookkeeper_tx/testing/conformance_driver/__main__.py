"""The process of the driver: ``python -m bookkeeper_tx.testing.conformance_driver [--face twisted|aio|blocking]``.

Each request is a line on standard input, its reply a line on standard output (docs/conformance/driver.md).  Requests
begin in the order of their lines, and are answered as they end.  When standard input ends, the process ends too, and
closes no ledger.
"""

import argparse
import asyncio
import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, TextIO

from bookkeeper_tx.config import ClientConfig
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


def serve(session: Session, begin: Callable[..., Any], spawn: Callable[..., Any]) -> None:
    """Begin a request for each line of standard input, on the client's thread; end the process with it."""
    replies, sys.stdout = sys.stdout, sys.stderr  # other output must not stand between the replies

    def start(line: str) -> None:
        spawn(answer(session, line, replies))

    def listen() -> None:
        for line in sys.stdin:
            begin(start, line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()


def serve_on_twisted() -> None:
    """Serve with the client on Twisted."""
    from twisted.internet import reactor

    from bookkeeper_tx.client.client import BookKeeper
    from bookkeeper_tx.transport.monotonic_reactor import make_monotonic
    from bookkeeper_tx.transport.twisted_driver import TwistedDriver

    make_monotonic(reactor)
    driver = TwistedDriver(reactor)
    serve(Session(driver, partial(BookKeeper, reactor=reactor)), reactor.callFromThread, driver.spawn)  # type: ignore[attr-defined]
    reactor.run()


async def serve_on_asyncio() -> None:
    """Serve with the client on asyncio."""
    from bookkeeper_tx.aio import BookKeeper

    await serve_on_loop(BookKeeper)


async def serve_on_threads() -> None:
    """Serve with the client whose calls wait."""
    from bookkeeper_tx.blocking import BookKeeper
    from bookkeeper_tx.testing.conformance_driver.on_threads import OnThreads

    await serve_on_loop(lambda uri, config: OnThreads(BookKeeper(uri, config)))


async def serve_on_loop(make_client: Callable[[str, ClientConfig], Any]) -> None:
    """Serve with clients whose promises are those of this event loop."""
    from bookkeeper_tx.transport.aio_driver import AioDriver

    loop = asyncio.get_running_loop()
    driver = AioDriver(loop)
    serve(Session(driver, make_client), loop.call_soon_threadsafe, driver.spawn)
    await loop.create_future()


def main() -> None:
    """Serve until standard input ends."""
    on_loops = {"aio": serve_on_asyncio, "blocking": serve_on_threads}
    parser = argparse.ArgumentParser(description="Our client, driven by lines (docs/conformance/driver.md).")
    parser.add_argument("--face", choices=("twisted", *on_loops), default="twisted")
    face = parser.parse_args().face
    if face == "twisted":
        serve_on_twisted()
    else:
        asyncio.run(on_loops[face]())


if __name__ == "__main__":
    main()
