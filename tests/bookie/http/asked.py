"""A bookie that can be asked over HTTP: real directories and endpoints, a store in memory, no sockets."""

import json
from pathlib import Path
from typing import Any

from attrs import frozen
from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.availability import Availability
from bookkeeper_tx.bookie.directories import Directories
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.http.administered import Administered, Phase
from bookkeeper_tx.bookie.http.server import FewConnections, factory_of
from bookkeeper_tx.bookie.listening import Address
from bookkeeper_tx.config import BookieConfig
from tests.bookie.workers import InlineWorker
from tests.metadata.zookeeper.zookeeper_world import World

ADDRESS = IPv4Address("TCP", "127.0.0.1", 1)
BOOKIE = "127.0.0.1:3181"


@frozen
class Reply:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        assert self.headers["content-type"] == "application/json"
        return json.loads(self.body)


class FakeClient:
    """Stands for a client that is made on demand: ``started()`` gives what the test wants."""

    def __init__(self, client: Any = None) -> None:
        self.client = client

    async def started(self) -> Any:
        return self.client


class Asked:
    """The bookie ``bookie``, whose metadata store is ``store``, and its HTTP server."""

    def __init__(self, directory: Path, **settings: Any) -> None:
        self.clock = Clock()
        self.world = World()
        self.store, self.session = self.world.open()
        data = str(directory / "data")
        self.directories = Directories(Disk(), data, data)
        self.directories.open()
        self.directories.close()
        config = BookieConfig(metadata_uri="", journal_directory=data, ledger_directory=data, **settings)
        socket: Any = None
        self.cookies_checked = 0
        self.bookie = Administered(
            config=config,
            address=Address(socket, "127.0.0.1", 3181, BOOKIE),
            disk=Disk(),
            journal_directories=[self.directories.journal],
            ledger_directories=self.directories.ledgers,
            index_directories=self.directories.indexes,
            store=self.store,
            availability=Availability(config.read_only),
            threads=InlineWorker(),
            client=FakeClient(),  # type: ignore[arg-type]
            own_client=FakeClient(),  # type: ignore[arg-type]
            metrics=lambda: "bookie_SERVER_STATUS 1.0\n",
            check_cookies=self._check_cookies,
            phase=Phase.SERVING,
        )
        self.factory: FewConnections = factory_of(self.bookie, self.clock)

    async def _check_cookies(self) -> None:
        self.cookies_checked += 1

    def connect(self) -> tuple[Any, StringTransport]:
        """Return the protocol and the transport of a new connection."""
        transport = StringTransport()
        protocol = self.factory.buildProtocol(ADDRESS)
        protocol.makeConnection(transport)
        return protocol, transport

    def ask(
        self, path: str, method: str = "GET", body: bytes = b"", headers: str = "", host: str = "localhost"
    ) -> Reply:
        """Send one request and return the reply, which must have come."""
        protocol, transport = self.connect()
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        protocol.dataReceived(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{length}{headers}\r\n".encode() + body)
        reply = reply_in(transport.value())
        protocol.connectionLost(Failure(ConnectionDone()))
        return reply

    def put(self, path: str, value: Any) -> Reply:
        """Put ``value`` in JSON."""
        return self.ask(path, "PUT", json.dumps(value).encode())


def reply_in(data: bytes) -> Reply:
    """Parse a reply."""
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:])
    return Reply(int(lines[0].split(" ")[1]), headers, body)
