"""The HTTP server of a bookie from start to stop."""

from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from bookkeeper_tx.bookie.cluster_client import cluster_client
from bookkeeper_tx.bookie.http.administered import ANSWER_BYTES_MAX, Administered, Phase
from bookkeeper_tx.bookie.http.client import ClientOnDemand
from bookkeeper_tx.bookie.http.origin import is_loopback
from bookkeeper_tx.bookie.http.server import listen
from bookkeeper_tx.config import BookieConfig

log = Logger()


class HttpServer:
    """Serves the endpoints of the bookie that ``parts`` describe, which are fields of Administered; until :meth:`stop`.

    Raises RefusedToStart if it cannot listen.
    """

    def __init__(self, reactor: Any, config: BookieConfig, **parts: Any) -> None:
        self._clients = [ClientOnDemand(lambda: cluster_client(reactor, config, ANSWER_BYTES_MAX))]
        self._clients.append(
            ClientOnDemand(lambda: cluster_client(reactor, config, ANSWER_BYTES_MAX, self.bookie.bookie_id))
        )
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
