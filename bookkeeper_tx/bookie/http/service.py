"""The HTTP server of a bookie from start to stop."""

from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from bookkeeper_tx.bookie.http.administered import ANSWER_BYTES_MAX, Administered, Phase
from bookkeeper_tx.bookie.http.client import ClientOnDemand
from bookkeeper_tx.bookie.http.origin import is_loopback
from bookkeeper_tx.bookie.http.server import listen
from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.config import BookieConfig, ClientConfig, WireProtocol
from bookkeeper_tx.metadata.one_bookie_store import OneBookieStore
from bookkeeper_tx.metadata.store import open_metadata_store

log = Logger()


class HttpServer:
    """Serves the endpoints of the bookie that ``parts`` describe, which are fields of Administered; until :meth:`stop`.

    Raises RefusedToStart if it cannot listen.
    """

    def __init__(self, reactor: Any, config: BookieConfig, **parts: Any) -> None:
        self._clients = [ClientOnDemand(lambda: _client(reactor, config, None))]
        self._clients.append(ClientOnDemand(lambda: _client(reactor, config, self.bookie.bookie_id)))
        client, own_client = self._clients
        self.bookie = Administered(config=config, client=client, own_client=own_client, **parts)
        self._port = listen(reactor, config, self.bookie)
        address = self._port.getHost()
        self.address: tuple[str, int] = address.host, address.port
        """Host and port on which it listens."""
        if not is_loopback(address.host):
            log.warn(
                "whoever reaches {host}:{port} may delete ledgers: there is no authentication",
                host=address.host,
                port=address.port,
            )
        log.info("serving HTTP, with metrics at http://{host}:{port}/metrics", host=address.host, port=address.port)

    def serving(self) -> None:
        """Tell those who ask that the bookie serves clients."""
        self.bookie.phase = Phase.SERVING

    def stopping(self) -> None:
        """Tell those who ask that the bookie stops."""
        self.bookie.phase = Phase.STOPPING

    def stop(self) -> Deferred[None]:
        """Serve no more; fires when nothing is left."""
        return Deferred.fromCoroutine(self._stop())

    async def _stop(self) -> None:
        await self._port.stopListening()
        for client in self._clients:
            await client.stop()


def _client(reactor: Any, config: BookieConfig, only_bookie: str | None) -> BookKeeper:
    """Make a client of the bookie's cluster; one whose new ledgers are all on ``only_bookie``, if that is given."""
    store: Any = open_metadata_store(config.metadata_uri, reactor, config.metadata_timeout_s)
    settings = ClientConfig(
        protocol=WireProtocol.V3,  # V2 cannot name ledgers of other scopes
        metadata_timeout_s=config.metadata_timeout_s,
        frame_size_max=config.frame_size_max,
        read_bytes_max=ANSWER_BYTES_MAX,
    )
    return BookKeeper(store if only_bookie is None else OneBookieStore(store, only_bookie), settings, reactor)
