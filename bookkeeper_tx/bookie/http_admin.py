"""The bookie's HTTP endpoint, only ``/metrics`` for Prometheus (docs/guides/bookie.md, metrics)."""

from io import BytesIO
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from twisted.internet.error import CannotListenError
from twisted.protocols.policies import WrappingFactory
from twisted.web.resource import Resource
from twisted.web.server import Request, Site

from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import RefusedToStart

CONNECTIONS_MAX = 16
"""Connections at once."""

REQUEST_TIMEOUT_S = 30
"""How long a connection may be idle."""


class MetricsResource(Resource):
    """Gives the metrics of a registry as text."""

    isLeaf = True

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._registry = registry

    def render_GET(self, request: Request) -> bytes:
        request.setHeader(b"content-type", CONTENT_TYPE_LATEST.encode("ascii"))  # type: ignore[no-untyped-call]
        return generate_latest(self._registry)


class BodilessRequest(Request):
    """Drops the body of a request, whatever its length: no resource here uses it, and it would fill the disk."""

    def gotLength(self, length: int | None) -> None:
        self.content = BytesIO()

    def handleContentChunk(self, data: bytes) -> None: ...


class FewConnections(WrappingFactory):
    """Closes connections at once while there are many: the descriptors of a bookie are for its clients and files."""

    noisy = False

    def buildProtocol(self, addr: Any) -> Any:
        return super().buildProtocol(addr) if len(self.protocols) < CONNECTIONS_MAX else None


def site(registry: CollectorRegistry) -> Site:
    """Return the site that answers the requests."""
    root = Resource()  # type: ignore[no-untyped-call]
    root.putChild(b"metrics", MetricsResource(registry))
    return Site(root, BodilessRequest, timeout=REQUEST_TIMEOUT_S)  # type: ignore[no-untyped-call]


def listen(reactor: Any, config: BookieConfig, registry: CollectorRegistry) -> Any:
    """Listen at the address of ``config`` and return the port; raises RefusedToStart if that is not possible."""
    factory = FewConnections(site(registry))  # type: ignore[no-untyped-call]
    try:
        return reactor.listenTCP(config.http_server_port, factory, interface=config.http_server_host)
    except CannotListenError as error:
        where = f"{config.http_server_host}:{config.http_server_port}"
        raise RefusedToStart(
            f"cannot serve HTTP on {where}: {error.socketError}; give another httpServerPort or httpServerHost, "
            "or set httpServerEnabled to false"
        ) from None
