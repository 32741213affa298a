"""The bookie's threads for work that blocks: see :mod:`bookkeeper_tx.worker`, which the metadata store shares."""

from bookkeeper_tx.worker import Worker

__all__ = ["Worker"]
