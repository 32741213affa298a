"""``twistd bookie``: command line to service (docs/guides/bookie.md)."""

import atexit
import contextlib
import os
import signal
import sys
from typing import Any

from twisted.application.service import IService
from twisted.internet.error import ReactorNotRunning
from twisted.python import usage

from bookkeeper_tx.bookie.config_file import read_config_file
from bookkeeper_tx.bookie.service import BookieService
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import BookKeeperError, InvalidConfig
from bookkeeper_tx.text.listed import listed
from bookkeeper_tx.transport.monotonic_reactor import make_monotonic

FAILED = 1
"""Exit code of a bookie that did not start, or that had to stop."""


def _port(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise InvalidConfig(f"--port {text}: give a number from 0 to 65535")
    return int(text)


class Options(usage.Options):
    """Command line of ``twistd bookie``.  It wins over the file given with --config."""

    synopsis = "[--metadata URI] [--data DIR] [--config FILE] [options]"
    longdesc = (
        "Runs a bookie, a storage server of Apache BookKeeper.  The first start creates its directory, and an empty "
        "cluster where the metadata is kept.  Example: "
        "twistd -n --pidfile= bookie --metadata sqlite:///var/lib/bk/metadata.db --data /var/lib/bk/1 --port 3181"
    )
    optParameters = [
        [
            "metadata",
            "m",
            None,
            "Where the metadata is: sqlite:///PATH, zk+hierarchical://HOST:PORT;HOST:PORT/ledgers or etcd://….",
        ],
        ["data", "d", None, "Directory of journal, entry logs and indexes; several for the entry logs: D,E."],
        ["journal-dir", None, None, "Directory of the journal, if it is to be on a disk of its own; several: D,E."],
        ["index-dir", None, None, "Directory of the indexes, if it is to be another; several: D,E."],
        [
            "port",
            "p",
            None,
            "TCP port, or 0 for any free one, which is printed, and kept for later starts. [default: 3181]",
        ],
        ["listen", "l", None, "Address to listen on. [default: 127.0.0.1]"],
        ["advertise", "a", None, "Host name or address that clients connect to. [default: the address listened on]"],
        ["bookie-id", "i", None, "Name of the bookie. [default: ADVERTISED:PORT]"],
        ["config", "c", None, "A bk_server.conf of a Java bookie; a warning names the keys without effect here."],
        ["wire-compat", None, None, "4.16: imitate a bookie without batch read."],
    ]

    def postOptions(self) -> None:
        """Make the configuration; an error in it is one line of text, and the exit code is 1."""
        try:
            self.config = self._config()
        except InvalidConfig as error:
            raise SystemExit(f"bookie: {error}") from None

    def _config(self) -> BookieConfig:
        self.warnings: list[str] = []
        values: dict[str, Any] = {}
        if self["config"] is not None:
            values = read_config_file(self["config"], self.warnings.append)
        ledgers, indexes, journals = (self._directories(each) for each in ("data", "index-dir", "journal-dir"))
        journals = journals or ledgers[:1]
        given = {
            "metadata_uri": self["metadata"],
            "journal_directory": next(iter(journals), None),
            "more_journal_directories": journals[1:] if journals else None,
            "ledger_directory": next(iter(ledgers), None),
            "more_ledger_directories": ledgers[1:] if ledgers else None,
            "index_directories": indexes or None,
            "port": _port(self["port"]),
            "listen": self["listen"],
            "advertise": self["advertise"],
            "bookie_id": self["bookie-id"],
            "wire_compat": self["wire-compat"],
        }
        values |= {field: value for field, value in given.items() if value is not None}
        missing = {
            "metadata_uri": "--metadata URI (in a file: metadataServiceUri)",
            "ledger_directory": "--data DIR (in a file: ledgerDirectories)",
            "journal_directory": "--data DIR or --journal-dir DIR (in a file: journalDirectories)",
        }
        for field, option in missing.items():
            if not values.get(field):
                raise InvalidConfig(f"give {option}")
        if values.get("wire_compat") not in (None, "", "4.16"):
            raise InvalidConfig(f"--wire-compat {values['wire_compat']}: only 4.16 can be imitated")
        for field in ("journal_directory", "ledger_directory"):
            values[field] = os.path.abspath(values[field])
        for field in ("more_journal_directories", "more_ledger_directories", "index_directories"):
            values[field] = tuple(map(os.path.abspath, values.get(field, ())))
        return BookieConfig(**values)

    def _directories(self, option: str) -> tuple[str, ...]:
        return listed(self[option] or "", f"--{option}")


def makeService(options: Options) -> IService:
    """Return the bookie.

    If it fails, the exit code of the process is 1 (twistd alone would leave it at 0); after a clean stop at SIGTERM it
    is 0 (twistd alone would end itself by the signal, and tell nobody of a stop that was not clean).
    """
    from twisted.internet import reactor

    make_monotonic(reactor)
    for warning in options.warnings:
        print(f"bookie: warning: {warning}", file=sys.__stderr__)
    try:
        service = BookieService(options.config, reactor)
    except BookKeeperError as error:
        raise SystemExit(f"bookie: {error}") from None
    atexit.register(_exit_as_failed, service)
    _stop_at_sigterm(reactor)
    return service


def _stop_at_sigterm(reactor: Any) -> None:
    def stop() -> None:
        with contextlib.suppress(ReactorNotRunning):  # it stops already
            reactor.stop()

    def handle(_number: int, _frame: object) -> None:
        reactor.callFromThread(stop)

    # The reactor sets a handler of its own just before it runs.
    reactor.callWhenRunning(signal.signal, signal.SIGTERM, handle)


def _exit_as_failed(service: BookieService) -> None:
    if service.failed:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(FAILED)
