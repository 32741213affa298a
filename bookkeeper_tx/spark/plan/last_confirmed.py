"""The last add confirmed of the open ledgers that a query or a stream reads, all asked for together."""

import logging
import time
from collections.abc import Callable, Sequence

from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import BookieUnavailable, BookKeeperError, RequestTimedOut, TooManyRequests
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.spark.bookies.bookie_channels import BookieChannels
from bookkeeper_tx.spark.bookies.last_add_confirmed import LastConfirmed, OpenLedger, last_adds_confirmed
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.options.secret import Secret
from bookkeeper_tx.spark.plan.ledger_selection import SelectedLedger

log = logging.getLogger(__name__)

WORTH_ANOTHER_TRY = (BookieUnavailable, RequestTimedOut, TooManyRequests)


def last_confirmed(
    channels: BookieChannels,
    ledgers: Sequence[SelectedLedger],
    options: Options,
    password: Secret,
    sleep: Callable[[float], None] = time.sleep,
) -> list[LastConfirmed]:
    """Return the last add confirmed of each ledger, in their order.

    Ledgers whose bookies do not answer are asked for again ``numRetries`` times, together.  If ledgers still fail then,
    raises the error of one of them: that of its bookies, or BookieUnavailable if too few answered.
    """
    digests: dict[DigestType, EntryDigest] = {}
    asked = [OpenLedger(each.ledger_id, each.metadata, _digest(each, options, password, digests)) for each in ledgers]
    found = list(last_adds_confirmed(channels, asked))
    for _ in range(options.num_retries):
        _raise_what_is_final(found)
        again = [index for index, each in enumerate(found) if isinstance(each, WORTH_ANOTHER_TRY)]
        if not again:
            break
        log.warning("the ends of %d ledgers are asked for again, as of the first: %s", len(again), found[again[0]])
        sleep(options.retry_interval_ms / 1000)
        answers = last_adds_confirmed(channels, [asked[index] for index in again])
        for index, answer in zip(again, answers, strict=True):
            found[index] = answer
    known = []
    for each in found:
        if isinstance(each, BookKeeperError):
            raise each
        known.append(each)
    return known


def _raise_what_is_final(answers: Sequence[LastConfirmed | BookKeeperError]) -> None:
    for each in answers:
        if isinstance(each, BookKeeperError) and not isinstance(each, WORTH_ANOTHER_TRY):
            raise each


def _digest(
    ledger: SelectedLedger, options: Options, password: Secret, made: dict[DigestType, EntryDigest]
) -> EntryDigest:
    digest_type = ledger.metadata.digest_type or options.digest_type
    assert digest_type is not None, "the ledger was checked"
    if digest_type not in made:
        made[digest_type] = EntryDigest(digest_type, password.value)
    return made[digest_type]
