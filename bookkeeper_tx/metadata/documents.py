"""Documents: small records of ours that are stored beside the ledgers, such as the manifests of Spark sinks.

A document has a path of names, ``("sink", "query", "7")``.  It is made once, atomically, and never changed.  Any text
may be a name: stores keep it percent-encoded.
"""

from urllib.parse import quote, unquote

from bookkeeper_tx.errors import InvalidArgument

DOCUMENT_SIZE_MAX = 1_000_000
"""Bytes.  ZooKeeper closes the connection on requests above 1 MiB, path and framing included."""

DocumentPath = tuple[str, ...]


def encoded(path: DocumentPath) -> list[str]:
    """Return the names as stores keep them; raises InvalidArgument if a name is empty."""
    if not all(isinstance(name, str) and name for name in path):
        raise InvalidArgument(f"{path!r} is no path of a document: its names must be text, and not empty")
    # ZooKeeper gives "." and ".." a meaning of their own.
    return [quote(name, safe="") if name.strip(".") else name.replace(".", "%2E") for name in path]


def decoded(name: str) -> str:
    """Return the name that ``name`` encodes."""
    return unquote(name)


def check_document(path: DocumentPath, data: bytes) -> None:
    """Raise InvalidArgument if ``data`` is empty or too large for a document, or ``path`` is empty."""
    if not path:
        raise InvalidArgument("a document has a path of at least one name")
    if not 0 < len(data) <= DOCUMENT_SIZE_MAX:
        raise InvalidArgument(
            f"document {'/'.join(path)} of {len(data)} bytes: it must have 1 to {DOCUMENT_SIZE_MAX}; divide it"
        )
