"""A BookKeeper cluster as ZooKeeper sees it: made without a JVM, looked into, thrown away."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

#: What Java's default layout writes. The first line is the layout's version; bookies do not come up on 1.
HIERARCHICAL_LAYOUT = b"2\norg.apache.bookkeeper.meta.HierarchicalLedgerManagerFactory:1"


_AWAY_AT_MOST_S = 20.0


def new_session(hosts: str) -> Any:
    """A kazoo session, not started.

    Requests have no time-out of their own; the retry limit makes those fail that wait for a server gone for good.
    """
    retry = {"max_tries": -1, "max_delay": 1.0, "deadline": _AWAY_AT_MOST_S}
    return KazooClient(hosts=hosts, timeout=10, connection_retry=retry)


@contextmanager
def session(hosts: str, timeout_s: float = 20) -> Iterator[Any]:
    """A kazoo session for a few requests."""
    client = new_session(hosts)
    client.start(timeout=timeout_s)
    try:
        yield client
    finally:
        client.stop()
        client.close()


_URI = re.compile(r"zk(\+\w+)?://(?P<hosts>[^/\s]+)(?P<root>(/[^/\s]+)+)/?")
_DEFAULT_PORT = 2181


def parse_uri(uri: str) -> Cluster:
    """The cluster that ``zk+hierarchical://host:port;host:port/root`` names; raises ``ValueError``."""
    match = _URI.fullmatch(uri)
    if match is None:
        raise ValueError(f"{uri!r} is not of the form zk+hierarchical://host:port;host:port/ledgers")
    hosts = re.split("[;,]", match["hosts"])
    return Cluster(",".join(host if ":" in host else f"{host}:{_DEFAULT_PORT}" for host in hosts), match["root"])


@attrs.frozen
class Cluster:
    """A ledgers root in a ZooKeeper; several may share one server, and do not see each other's bookies."""

    zookeeper: str
    """``host:port[,host:port]``"""
    root: str = "/ledgers"

    @property
    def uri(self) -> str:
        """The metadata service URI, as bookies and clients in Java and ours take it."""
        return f"zk+hierarchical://{self.zookeeper.replace(',', ';')}{self.root}"

    def initialise(self) -> Cluster:
        """Make the root with its layout and instance id, in one transaction."""
        parent = self.root.rpartition("/")[0]
        with session(self.zookeeper) as client:
            if parent:
                client.ensure_path(parent)
            transaction = client.transaction()
            for path, data in self._nodes():
                transaction.create(path, data)
            for result in transaction.commit():
                if isinstance(result, Exception):
                    raise result
        return self

    def writable_ids(self) -> list[str]:
        """The ids of the bookies that take writes now."""
        with session(self.zookeeper) as client:
            return sorted(set(client.get_children(f"{self.root}/available")) - {"readonly"})

    def read_only_ids(self) -> list[str]:
        """The ids of the bookies that only serve reads now."""
        with session(self.zookeeper) as client:
            try:
                return sorted(client.get_children(f"{self.root}/available/readonly"))
            except NoNodeError:
                return []

    def registration(self, bookie_id: str) -> bytes | None:
        """The data of a bookie's registration, writable or read-only; None if it is not registered."""
        with session(self.zookeeper) as client:
            for folder in ("available", "available/readonly"):
                try:
                    data, _ = client.get(f"{self.root}/{folder}/{bookie_id}")
                except NoNodeError:
                    continue
                return bytes(data or b"")
        return None

    def unregister(self, bookie_id: str) -> None:
        """Remove a dead bookie's registration, as happens when its session expires; nothing if it has none."""
        with session(self.zookeeper) as client:
            for folder in ("available", "available/readonly"):
                try:
                    client.delete(f"{self.root}/{folder}/{bookie_id}")
                except NoNodeError:
                    continue

    def _nodes(self) -> list[tuple[str, bytes]]:
        return [
            (self.root, b""),
            (f"{self.root}/available", b""),
            (f"{self.root}/available/readonly", b""),
            (f"{self.root}/cookies", b""),
            (f"{self.root}/INSTANCEID", str(uuid.uuid4()).encode()),
            (f"{self.root}/LAYOUT", HIERARCHICAL_LAYOUT),
        ]
