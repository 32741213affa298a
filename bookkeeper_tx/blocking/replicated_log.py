"""Replicated logs for callers that wait: ``from bookkeeper_tx.blocking.replicated_log import Namespace``."""

from collections.abc import Iterator
from concurrent.futures import Future

from bookkeeper_tx.aio import replicated_log as aio
from bookkeeper_tx.blocking.client import BookKeeper
from bookkeeper_tx.blocking.iterating import iterated
from bookkeeper_tx.blocking.loop_thread import LoopThread
from bookkeeper_tx.blocking.waiting import OnThread, Waiting, gives, waits
from bookkeeper_tx.replicated_log import DLSN, LogProperties, LogRecord, LogStage, LogState

__all__ = ["DLSN", "Leadership", "LogProperties", "LogRecord", "LogStage", "LogState", "LogWriter", "Namespace"]


class LogWriter(Waiting[aio.LogWriter]):
    """Writes to one log; see :class:`bookkeeper_tx.replicated_log.LogWriter`."""

    def __init__(self, thread: LoopThread, writer: aio.LogWriter) -> None:
        super().__init__(thread, writer)
        self.name = writer.name
        """The name of the log."""

    @property
    def log_segment_sequence_no(self) -> int:
        """The number of the ledger that is being written, of all that the log ever had."""
        return self._inner.log_segment_sequence_no

    @property
    def ledger_id(self) -> int:
        """The id of the ledger that is being written."""
        return self._inner.ledger_id

    def write(self, payload: bytes) -> DLSN:
        """Write one record; return its position when it and all before it are stored.

        Each call waits for a round trip; :meth:`write_later` and ``write_bulk`` do not wait for each record.
        """
        return self._thread.wait(self.write_later(payload))

    def write_later(self, payload: bytes) -> "Future[DLSN]":
        """Write one record, after those of earlier calls; return a Future that will have its position, or the error."""
        if isinstance(payload, (bytearray, memoryview)):
            payload = bytes(payload)  # the caller may change it before it is sent
        return self._thread.answered(self._inner.write_for, payload)

    write_bulk = waits(aio.LogWriter.write_bulk)
    roll = waits(aio.LogWriter.roll)
    close = waits(aio.LogWriter.close)


class Leadership(Waiting[aio.Leadership]):
    """The lead of one election; see :class:`bookkeeper_tx.replicated_log.Leadership`."""

    def __init__(self, thread: LoopThread, leadership: aio.Leadership) -> None:
        super().__init__(thread, leadership)
        self.name = leadership.name
        """The name of the election."""
        self.candidate = leadership.candidate
        """What the one that leads is called."""

    def leads(self) -> bool:
        """Tell whether this leads now."""
        return self._inner.leads()

    until_lost = waits(aio.Leadership.until_lost)
    resign = waits(aio.Leadership.resign)
    close = waits(aio.Leadership.close)


class Namespace(OnThread[aio.Namespace]):
    """The logs of one cluster; see :class:`bookkeeper_tx.replicated_log.Namespace`.

    :param client: a client of the cluster
    :param password: of the ledgers of the logs
    """

    def __init__(self, client: BookKeeper, password: bytes = b"") -> None:
        super().__init__(client._thread, aio.Namespace(client._inner, password))

    create_log = waits(aio.Namespace.create_log)
    open_log_writer = gives(LogWriter, aio.Namespace.open_log_writer)

    def read(self, name: str, start: DLSN | None = None, *, follow: bool = False) -> Iterator[LogRecord]:
        """Iterate over the records of a log, from ``start`` or from the first on."""
        return iterated(self._thread, lambda: self._inner.read(name, start, follow=follow))

    first_dlsn = waits(aio.Namespace.first_dlsn)
    last_dlsn = waits(aio.Namespace.last_dlsn)
    dlsn_at = waits(aio.Namespace.dlsn_at)
    truncate = waits(aio.Namespace.truncate)
    delete_log = waits(aio.Namespace.delete_log)
    list_logs = waits(aio.Namespace.list_logs)
    log_state = waits(aio.Namespace.log_state)
    campaign = gives(Leadership, aio.Namespace.campaign)
    leader = waits(aio.Namespace.leader)
