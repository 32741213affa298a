"""Where a ledger that is not closed ends for readers, as its bookies know it."""

from bookkeeper_tx.blocking.bookie_channels import BookieChannels
from bookkeeper_tx.digest import EntryDigest
from bookkeeper_tx.errors import BookieUnavailable, BookKeeperError, NoSuchEntry, NoSuchLedger, Unauthorized
from bookkeeper_tx.model import BookieId, LedgerMetadata, ledger_name
from bookkeeper_tx.quorum import Quorum
from bookkeeper_tx.transport.blocking import BlockingChannel, Token
from protocol_specs import fields


def last_add_confirmed(channels: BookieChannels, ledger_id: int, metadata: LedgerMetadata, digest: EntryDigest) -> int:
    """Return the highest last add confirmed that a covering set of the bookies of the last fragment knows.

    -1 if nothing is confirmed.  Fences nothing.  Raises BookieUnavailable, or what bookies answered, when too few of
    them gave an answer; Unauthorized as soon as one says so.
    """
    fragment = metadata.last_fragment
    quorum = Quorum(metadata.ensemble_size, metadata.write_quorum_size, metadata.ack_quorum_size)
    asked: dict[int, tuple[BlockingChannel, Token]] = {}
    errors: dict[BookieId, BookKeeperError] = {}
    for index, bookie in enumerate(fragment.ensemble):
        try:
            channel = channels.channel(bookie, ledger_id)
            asked[index] = channel, channel.start_read(ledger_id, fields.LAST_ENTRY)
            channel.flush()
        except BookKeeperError as error:
            asked.pop(index, None)
            errors[bookie] = error
            channels.failed(bookie, error)
    # A fragment starts behind the last add confirmed of its time.
    found, answered = fragment.first_entry_id - 1, 0
    for index, (channel, token) in asked.items():
        bookie = fragment.ensemble[index]
        try:
            entry = bytes(channel.result(token))
            found = max(found, digest.verify(ledger_id, None, entry)[1])
        except (NoSuchEntry, NoSuchLedger):
            pass
        except Unauthorized:
            raise
        except BookKeeperError as error:
            errors[bookie] = error
            channels.failed(bookie, error)
            continue
        answered |= 1 << index
    if not quorum.covered(answered):
        reasons = "; ".join(f"{bookie}: {error}" for bookie, error in errors.items())
        kinds = {type(error) for error in errors.values()}
        kind = kinds.pop() if len(kinds) == 1 else BookieUnavailable
        raise kind(
            f"too few bookies answered to know the last add confirmed of ledger {ledger_name(ledger_id)} ({reasons})"
        )
    return found
