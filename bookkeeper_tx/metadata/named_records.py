"""Named records: small records of ours beside the ledgers, such as the lists of ledgers that logs are made of.

A record has a path of names, as a document has (``documents.py``), and a version: it is changed by compare-and-set.
What has records below it is no record itself.
"""

from bookkeeper_tx.errors import InvalidArgument, MetadataConflict
from bookkeeper_tx.metadata.documents import DOCUMENT_SIZE_MAX, DocumentPath

RECORD_SIZE_MAX = DOCUMENT_SIZE_MAX
"""Bytes."""

NEW_VERSION = 0
"""The version of a record that was just created; each change adds one."""


def check_path(path: DocumentPath) -> None:
    """Raise InvalidArgument if ``path`` is empty."""
    if not path:
        raise InvalidArgument("a record has a path of at least one name")


def check_record(path: DocumentPath, data: bytes) -> None:
    """Raise InvalidArgument if ``data`` is empty or too large for a record, or ``path`` is empty."""
    check_path(path)
    if not 0 < len(data) <= RECORD_SIZE_MAX:
        raise InvalidArgument(
            f"record {'/'.join(path)} of {len(data)} bytes: it must have 1 to {RECORD_SIZE_MAX}; divide it"
        )


def changed_by_others(path: DocumentPath, version: int | None) -> MetadataConflict:
    """Return the error for a record that does not have ``version``; None is that of a record that is not there."""
    expected = "none" if version is None else f"version {version}"
    return MetadataConflict(f"the record {'/'.join(path)} was changed by somebody else: expected was {expected}")
