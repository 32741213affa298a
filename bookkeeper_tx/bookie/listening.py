"""The socket of a bookie: bound first, because its port is part of the bookie's name, and listening last."""

import socket

from attrs import frozen

from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import RefusedToStart

BACKLOG = 1024
"""Connections that may wait to be accepted; the kernel may allow fewer."""

EVERY_ADDRESS = ("0.0.0.0", "::", "")


@frozen
class Address:
    """The address at which clients find this bookie, and its name."""

    listening: socket.socket
    """Bound; no client can connect until it listens."""
    host: str
    """The host that clients connect to."""
    port: int
    bookie_id: str


def bind(config: BookieConfig, former_id: str | None = None) -> Address:
    """Bind the address of ``config``.  Raises RefusedToStart if that is not possible.

    ``former_id`` is the last name of the bookie on these directories.  If the configuration accepts any port, the port
    of that name is taken, since the cookies refuse the directories to a bookie of another name.
    """
    if config.advertise is None and config.listen in EVERY_ADDRESS:
        raise RefusedToStart(
            f"listening on every address ({config.listen}) does not say where clients find this bookie: "
            "give --advertise HOST"
        )
    host = config.advertise or config.listen
    wanted = config.port or _port_of(former_id, host, config)
    where = f"{config.listen}:{wanted}"
    try:
        found = socket.getaddrinfo(config.listen or None, wanted, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise RefusedToStart(f"cannot listen on {where}: {error}; give an address of this machine") from None
    try:
        # A restarted bookie must not wait until the kernel has forgotten the connections of the former process.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        raise RefusedToStart(f"cannot listen on {where}: {error.strerror}; give another --port or --listen") from None
    port = listening.getsockname()[1]
    return Address(listening, host, port, config.bookie_id or f"{host}:{port}")


def _port_of(former_id: str | None, host: str, config: BookieConfig) -> int:
    """Return the port in ``former_id`` if this bookie would have that name on that port, else 0."""
    if former_id is None or config.bookie_id is not None:
        return 0
    former_host, _, port = former_id.rpartition(":")
    return int(port) if former_host == host and port.isdecimal() and int(port) < 2**16 else 0
