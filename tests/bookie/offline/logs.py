"""Entry logs in files, whole and damaged."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bookkeeper_tx.bookie.disk import Disk, File
from bookkeeper_tx.bookie.offline.entry_logs import read_header
from bookkeeper_tx.entry.entry_log_scan import Header


@contextmanager
def log_file(path: Path, data: bytes) -> Iterator[tuple[File, Header]]:
    """Write a log, and give it open, with its header."""
    path.write_bytes(data)
    with closing(Disk().open(str(path))) as file:
        yield file, read_header(file)
