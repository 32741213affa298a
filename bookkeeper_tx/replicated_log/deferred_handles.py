"""The logs as the client on Twisted gives them, for those who check types: their promises are Deferreds."""

from typing import TYPE_CHECKING

from bookkeeper_tx.replicated_log import leadership, log_writer, namespace

if TYPE_CHECKING:
    from bookkeeper_tx.client.promised import OnTwisted

    class LogWriter(log_writer.LogWriter, OnTwisted): ...

    class Leadership(leadership.Leadership, OnTwisted): ...

    class Namespace(namespace.Namespace[LogWriter, Leadership], OnTwisted): ...

else:
    LogWriter, Leadership, Namespace = log_writer.LogWriter, leadership.Leadership, namespace.Namespace
