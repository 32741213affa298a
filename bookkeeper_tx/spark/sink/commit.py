"""The driver's commit when all tasks of an epoch are done, and its abort when one has failed for good."""

import logging
from collections.abc import Collection, Iterable, Sequence

from bookkeeper_tx.errors import BookKeeperError, MetadataUnavailable, NoSuchLedger
from bookkeeper_tx.metadata.blocking.store import BlockingStore
from bookkeeper_tx.spark.sink.manifest import EpochKey, PublishedLedger, abandon, publish
from bookkeeper_tx.spark.sink.writer import EpochMessage, SinkPlan

PUBLISH_ATTEMPTS = 3
"""A publication whose answer is lost is tried again: publishing the same ledgers again changes nothing."""

_log = logging.getLogger(__name__)


def commit_epoch(plan: SinkPlan, key: EpochKey, messages: "Iterable[EpochMessage | None]") -> None:
    """Publish the ledgers of all tasks, in the order of the partitions.

    If the epoch was published before, that publication stays and these ledgers are deleted.  Raises EpochAbandoned and
    the errors of the metadata store; after MetadataUnavailable the epoch may be published or not, and may be written
    again.
    """
    mine = ledgers_of(messages)
    with plan.open_store() as store:
        holds = _publish(store, plan.sink_id, key, mine)
        _delete_quietly(store, {each.ledger_id for each in mine} - {each.ledger_id for each in holds})


def abort_epoch(plan: SinkPlan, key: EpochKey, messages: "Iterable[EpochMessage | None]") -> None:
    """Delete the ledgers of tasks that were done, unless they are published after all.

    The driver does not know the ledgers of other tasks: the sweeper finds them.
    """
    mine = {each.ledger_id for each in ledgers_of(messages)}
    if not mine:
        return
    try:
        with plan.open_store() as store:
            _delete_quietly(store, abandon(store, plan.sink_id, key, mine))
    except BookKeeperError as error:
        _log.warning("ledgers %s of sink %s are left to the sweeper: %s", sorted(mine), plan.sink_id, error)


def ledgers_of(messages: "Iterable[EpochMessage | None]") -> list[PublishedLedger]:
    """Return the ledgers in ``messages`` by partition, and within a partition in the order of writing."""
    done = sorted((each for each in messages if each is not None), key=lambda message: message.partition)
    return [ledger for message in done for ledger in message.ledgers]


def _publish(
    store: BlockingStore, sink_id: str, key: EpochKey, ledgers: Sequence[PublishedLedger]
) -> tuple[PublishedLedger, ...]:
    for _ in range(PUBLISH_ATTEMPTS - 1):
        try:
            return publish(store, sink_id, key, ledgers)
        except MetadataUnavailable as error:
            _log.warning("publishing epoch %s of %s again: %s", key.epoch, key.query_id, error)
    return publish(store, sink_id, key, ledgers)


def _delete_quietly(store: BlockingStore, ledger_ids: Collection[int]) -> None:
    """Delete ledgers that will never be published; the sweeper takes those that cannot be deleted now."""
    for ledger_id in sorted(ledger_ids):
        try:
            store.delete_ledger(ledger_id)
        except NoSuchLedger:
            pass
        except BookKeeperError as error:
            _log.warning("ledger %s is left to the sweeper: %s", ledger_id, error)
