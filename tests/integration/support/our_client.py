"""Our client for plain, blocking test code: its promises are kept on a thread of the session, reactor or event loop."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from inspect import isawaitable
from typing import Any

from attrs import frozen
from twisted.internet import reactor

from bookkeeper_tx import aio, blocking
from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.client.ledger_reader import LedgerReader
from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.driver import Driver
from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.testing.conformance_driver.on_threads import OnThreads
from bookkeeper_tx.transport.aio_driver import AioDriver
from bookkeeper_tx.transport.twisted_driver import TwistedDriver
from tests.loop_thread import run_in_loop
from tests.reactor_thread import run_in_reactor

TIMEOUT_S = 60
POLL_S = 0.1


@frozen
class Face:
    """A world that a client runs in."""

    make_client: Callable[[str, ClientConfig], Any]
    make_driver: Callable[[], Driver]
    run: Callable[..., Any]
    """Runs a coroutine function there, and waits."""


FACES = {
    "twisted": Face(
        lambda uri, config: BookKeeper(uri, config, reactor), lambda: TwistedDriver(reactor), run_in_reactor
    ),
    "aio": Face(aio.BookKeeper, lambda: AioDriver(asyncio.get_running_loop()), run_in_loop),
    "blocking": Face(
        lambda uri, config: OnThreads(blocking.BookKeeper(uri, config)),
        lambda: AioDriver(asyncio.get_running_loop()),
        run_in_loop,
    ),
}

_face = FACES["twisted"]


def make_driver() -> Driver:
    """Make a driver of the clients' world; to be called there."""
    return _face.make_driver()


def make_client(metadata_uri: str, **settings: Any) -> Any:
    """Make a client of their face, there; ``settings`` are fields of :class:`ClientConfig`."""
    # A disk that other processes use may be slow, and that is no failure.
    return _face.make_client(metadata_uri, ClientConfig(**{"add_timeout_s": 30.0, "read_timeout_s": 30.0, **settings}))


@contextmanager
def face_of_clients(name: str) -> Iterator[None]:
    """Have all that is here use the face of this name."""
    global _face
    before, _face = _face, FACES[name]
    try:
        yield
    finally:
        _face = before


def wait_for(function: Callable[..., Any], *args: Any, timeout_s: float = TIMEOUT_S, **options: Any) -> Any:
    """Call ``function`` in the clients' world; return what it returns, or the result of the promise it returns."""

    async def called() -> Any:
        result = function(*args, **options)
        return await result if isawaitable(result) else result

    return _face.run(called, timeout_s)


class OurClient:
    """A :class:`BookKeeper` of a cluster; a context manager.  Every method waits for its result.

    ``settings`` are fields of :class:`ClientConfig`.
    """

    def __init__(self, metadata_uri: str, **settings: Any) -> None:
        self._uri = metadata_uri
        self._settings = settings
        self.bookkeeper: Any

    def __enter__(self) -> "OurClient":
        self.bookkeeper = wait_for(make_client, self._uri, **self._settings)
        wait_for(self.bookkeeper.start)
        return self

    def __exit__(self, *_: object) -> None:
        wait_for(self.bookkeeper.close)

    def create_ledger(
        self,
        ensemble: int = 1,
        write: int = 1,
        ack: int = 1,
        *,
        digest: DigestType = DigestType.CRC32C,
        password: bytes = b"",
        custom: dict[str, bytes] | None = None,
    ) -> LedgerWriter:
        """Create a ledger; the defaults are those of ``JavaClient.create_ledger``."""
        return wait_for(self.bookkeeper.create_ledger, ensemble, write, ack, digest, password, custom)

    def open_ledger(self, ledger_id: int, *, password: bytes = b"", recovery: bool = True) -> LedgerReader:
        """Open a ledger: with recovery it is fenced and closed first."""
        opened = self.bookkeeper.open_ledger if recovery else self.bookkeeper.open_ledger_no_recovery
        return wait_for(opened, ledger_id, password)

    def metadata(self, ledger_id: int) -> Any:
        """The metadata of a ledger in the store."""
        return wait_for(self.bookkeeper.ledger_metadata, ledger_id)


def append(writer: LedgerWriter, payloads: Sequence[bytes]) -> list[int]:
    """Append all, each with a promise of its own and all on their way at once; give their ids."""

    async def appended() -> list[int]:
        ids, errors = list[int](), list[BookKeeperError]()
        for promise in [writer.append(payload) for payload in payloads]:
            try:
                ids.append(await promise)
            except BookKeeperError as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return ids

    return wait_for(appended)


def append_and_close(writer: LedgerWriter, payloads: Sequence[bytes]) -> int:
    """Append all, close the ledger, and give its id."""
    append(writer, payloads)
    wait_for(writer.close)
    return int(writer.ledger_id)


def read(reader: LedgerReader, first: int, last: int, *, batch: bool = False) -> list[bytes]:
    """The payloads of ``first`` to ``last``, both included; by single reads unless ``batch``."""
    return list(wait_for(reader.read, first, last, batch).payloads)


def poll(condition: Callable[[], bool], timeout_s: float = TIMEOUT_S, interval_s: float = POLL_S) -> bool:
    """Whether ``condition()`` comes true in time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(interval_s)
    return True
