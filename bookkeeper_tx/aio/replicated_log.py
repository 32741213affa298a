"""Replicated logs for the client on asyncio: ``from bookkeeper_tx.aio.replicated_log import Namespace``."""

from typing import TYPE_CHECKING

from bookkeeper_tx.replicated_log import (
    DLSN,
    LogProperties,
    LogRecord,
    LogStage,
    LogState,
    leadership,
    log_writer,
    namespace,
)

__all__ = ["DLSN", "Leadership", "LogProperties", "LogRecord", "LogStage", "LogState", "LogWriter", "Namespace"]

if TYPE_CHECKING:
    from bookkeeper_tx.client.promised import OnAsyncio

    class LogWriter(log_writer.LogWriter, OnAsyncio): ...

    class Leadership(leadership.Leadership, OnAsyncio): ...

    class Namespace(namespace.Namespace[LogWriter, Leadership], OnAsyncio): ...

else:
    LogWriter, Leadership, Namespace = log_writer.LogWriter, leadership.Leadership, namespace.Namespace
