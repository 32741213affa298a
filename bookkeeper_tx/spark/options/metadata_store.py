"""The connection to the metadata store, as the options want it."""

from bookkeeper_tx.metadata.blocking.store import BlockingStore, open_blocking_store
from bookkeeper_tx.spark.options.advice import advised
from bookkeeper_tx.spark.options.client_config import client_config
from bookkeeper_tx.spark.options.options import Options


def open_store(options: Options) -> BlockingStore:
    """Return the metadata store that ``options`` name, open; in the driver and in tasks alike.

    Raises InvalidConfig for a wrong client key before any server is asked, and the errors of
    :func:`~bookkeeper_tx.metadata.blocking.store.open_blocking_store`.
    """
    security = client_config(options).metadata_security
    with advised():
        return open_blocking_store(options.metadata_service_uri, options.metadata_timeout_ms / 1000, security)
