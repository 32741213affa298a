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
    """Where clients find this bookie, and its name."""

    listening: socket.socket
    """Bound; nobody can connect until it listens."""
    host: str
    """What clients are told."""
    port: int
    bookie_id: str


def bind(config: BookieConfig) -> Address:
    """Take the address that ``config`` asks for.  Raises RefusedToStart if it cannot be had."""
    if config.advertise is None and config.listen in EVERY_ADDRESS:
        raise RefusedToStart(
            f"listening on every address ({config.listen}) does not say where clients find this bookie: "
            "give --advertise HOST"
        )
    where = f"{config.listen}:{config.port}"
    try:
        found = socket.getaddrinfo(config.listen or None, config.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise RefusedToStart(f"cannot listen on {where}: {error}; give an address of this machine") from None
    try:
        # A restarted bookie must not wait until the kernel has forgotten the connections of the one before.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        raise RefusedToStart(f"cannot listen on {where}: {error.strerror}; give another --port or --listen") from None
    host, port = config.advertise or config.listen, listening.getsockname()[1]
    return Address(listening, host, port, config.bookie_id or f"{host}:{port}")
