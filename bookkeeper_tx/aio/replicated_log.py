"""Replicated logs for the client on asyncio: ``from bookkeeper_tx.aio.replicated_log import Namespace``."""

from typing import TYPE_CHECKING

from bookkeeper_tx.replicated_log import DLSN, LogProperties, LogRecord, LogStage, LogState, log_writer, namespace

__all__ = ["DLSN", "LogProperties", "LogRecord", "LogStage", "LogState", "LogWriter", "Namespace"]

if TYPE_CHECKING:
    from bookkeeper_tx.client.promised import OnAsyncio

    class LogWriter(log_writer.LogWriter, OnAsyncio): ...

    class Namespace(namespace.Namespace[LogWriter], OnAsyncio): ...

else:
    LogWriter, Namespace = log_writer.LogWriter, namespace.Namespace
