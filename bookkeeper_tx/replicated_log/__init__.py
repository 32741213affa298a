"""Replicated logs on ledgers, for the client on Twisted (docs/guides/replicated-log.md); loads no Twisted itself."""

from bookkeeper_tx.replicated_log.deferred_handles import Leadership, LogWriter, Namespace
from bookkeeper_tx.replicated_log.dlsn import DLSN, LogRecord
from bookkeeper_tx.replicated_log.log_properties import LogProperties, LogStage
from bookkeeper_tx.replicated_log.namespace import LogState

__all__ = ["DLSN", "Leadership", "LogProperties", "LogRecord", "LogStage", "LogState", "LogWriter", "Namespace"]
