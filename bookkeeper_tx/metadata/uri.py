"""Metadata URIs: ``sqlite:///path``, ``zk://h1:2181;h2:2181/ledgers``, ``zk+hierarchical://…``, ``zk+longhierarchical://…``,
``zk+flat://…``, ``zk+null://…``, ``etcd://h1:2379;h2:2379/ledgers``."""

from urllib.parse import unquote

from attrs import frozen

from bookkeeper_tx.errors import InvalidConfig

ZOOKEEPER_PORT = 2181
ETCD_PORT = 2379

_ANY_LAYOUT = ("", "null")
LAYOUTS = ("hierarchical", "longhierarchical", "flat")
"""The layouts that are built; a new cluster gets the first one unless its URI says otherwise."""

_OTHER_LAYOUTS = ("legacyhierarchical", "ms")


@frozen
class SqliteUri:
    """An SQLite file."""

    path: str


@frozen
class ZooKeeperUri:
    """A cluster in ZooKeeper."""

    hosts: tuple[str, ...]
    """``host:port`` each."""
    root: str
    """Path of the cluster's root node, without a slash at the end."""
    layout: str | None
    """The layout that the cluster must have; None accepts the cluster's own."""


@frozen
class EtcdUri:
    """A cluster in etcd."""

    hosts: tuple[str, ...]
    """``host:port`` each."""
    scope: str
    """What the cluster's keys begin with: a slash first, and none at the end."""


def parse_metadata_uri(uri: str) -> SqliteUri | ZooKeeperUri | EtcdUri:
    """Return the parts of ``uri``; raises InvalidConfig with the reason for a URI that names no store."""
    scheme, separator, rest = uri.partition("://")
    if not separator:
        raise _invalid(uri, "it has no scheme; write sqlite:///path/to/file or zk://host:2181/ledgers")
    store, plus, layout = scheme.partition("+")
    if "@" in rest and store != "sqlite":
        raise _invalid(uri, "a user or a password in it, before an @, is not implemented")
    if "?" in rest or "#" in rest:
        raise _invalid(uri, "options in it, after a ? or #, are not implemented; in the path of a file write %3F, %23")
    if store == "sqlite" and not plus:
        return _sqlite(uri, rest)
    if store == "zk":
        return _zookeeper(uri, rest, layout)
    if store == "etcd" and not plus:
        return EtcdUri(*_hosts_and_root(uri, rest, ETCD_PORT, "etcd://host:2379/ledgers"))
    raise _invalid(uri, f"there is no metadata store {scheme!r}; use sqlite://, zk:// or etcd://")


def shown_uri(uri: str) -> str:
    """Return ``uri`` as logs and errors may show it: without what may be a secret."""
    if not set(uri) & set("@?#"):
        return uri
    scheme, separator, _ = uri.partition("://")
    return f"{scheme}://…" if separator else "…"


def _sqlite(uri: str, rest: str) -> SqliteUri:
    if not rest.startswith("/") or rest.endswith("/"):
        raise _invalid(uri, "an absolute path of a file follows sqlite://, as in sqlite:///var/lib/bookkeeper/meta.db")
    # Four slashes are SQLAlchemy's way to write an absolute path; both mean the same here.
    return SqliteUri("/" + unquote(rest).lstrip("/"))


def _zookeeper(uri: str, rest: str, layout: str) -> ZooKeeperUri:
    if layout not in (*_ANY_LAYOUT, *LAYOUTS):
        known = "is not built" if layout in _OTHER_LAYOUTS else "is not known"
        use = ", ".join(f"zk+{each}://" for each in LAYOUTS)
        raise _invalid(uri, f"the layout {layout!r} {known}; use {use} or zk://")
    hosts, root = _hosts_and_root(uri, rest, ZOOKEEPER_PORT, "zk://host:2181/ledgers")
    return ZooKeeperUri(hosts, root, None if layout in _ANY_LAYOUT else layout)


def _hosts_and_root(uri: str, rest: str, port: int, example: str) -> tuple[tuple[str, ...], str]:
    hosts, slash, root = rest.partition("/")
    parts = root.rstrip("/").split("/")
    if not slash or not all(parts):
        raise _invalid(uri, f"the path of the cluster's root follows the hosts, as in {example}")
    addresses = tuple(_address(uri, each.strip(), port) for each in hosts.replace(",", ";").split(";"))
    return addresses, "/" + "/".join(parts)


def _address(uri: str, text: str, default_port: int) -> str:
    host, colon, port = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    if not colon:
        host, port = text, str(default_port)
    if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise _invalid(uri, f"{text!r} is no host:port")
    return f"{host}:{port}"


def _invalid(uri: str, reason: str) -> InvalidConfig:
    return InvalidConfig(f"metadata URI {shown_uri(uri)!r}: {reason}")
