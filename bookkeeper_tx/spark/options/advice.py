"""Advice about an error, in the words of Spark's options; Spark shows it after the error's own text."""

from collections.abc import Iterator
from contextlib import contextmanager

from bookkeeper_tx.errors import (
    BookieUnavailable,
    BookKeeperError,
    DigestMismatch,
    EntriesMissing,
    MetadataAccessDenied,
    MetadataUnavailable,
    NotEnoughBookies,
    RequestTimedOut,
    TooManyRequests,
)

_ADVICE: tuple[tuple[tuple[type[BookKeeperError], ...], str], ...] = (
    (
        (EntriesMissing,),
        "They are lost unless a bookie that has them comes back. To read what there is, give failOnDataLoss=false, "
        "and includeLost=true to see which entries are missing.",
    ),
    (
        (DigestMismatch,),
        "To read the others, give failOnDataLoss=false, and includeLost=true to see which entries are left out; "
        "to see what bookies have of it, includeDigest=true.",
    ),
    (
        (MetadataUnavailable,),
        "Check that option metadataServiceUri is right, and that the metadata store runs and can be reached from the "
        "machine that asked, which is the driver's or an executor's; metadataTimeoutMs says how long to wait for it.",
    ),
    (
        (MetadataAccessDenied,),
        "What Spark shows ZooKeeper, and asks of it, is in the options bookkeeper.client.zookeeper.… and "
        "bookkeeper.client.java.security.auth.login.config; the files must be there on the machine that asked.",
    ),
    (
        (BookieUnavailable, RequestTimedOut),
        "Check that the bookies run, and that Spark's machines can reach them at the addresses that they have "
        "registered; readTimeoutMs, numRetries and retryIntervalMs say how long to wait for them.",
    ),
    (
        (NotEnoughBookies,),
        "Options ensembleSize, writeQuorumSize and ackQuorumSize say how many bookies a write needs: start more, or "
        "give smaller ones.",
    ),
    (
        (TooManyRequests,),
        "Ask for less at a time: maxEntriesPerSecondPerBookie, maxBytesPerSecondPerBookie, or fewer tasks.",
    ),
)


def advice_for(error: BookKeeperError) -> str | None:
    """Return the advice to a user of Spark about ``error``; None if its text is enough."""
    return next((text for kinds, text in _ADVICE if isinstance(error, kinds)), None)


def without_reading_on(text: str) -> str:
    """Return the text of an error without the advice to read on without the lost entries: a copy needs all of them."""
    for kinds, advice in _ADVICE:
        if EntriesMissing in kinds or DigestMismatch in kinds:
            text = text.replace(advice, "").rstrip()
    return text


@contextmanager
def advised() -> Iterator[None]:
    """Add the advice to an error of ours that passes, once."""
    try:
        yield
    except BookKeeperError as error:
        text = advice_for(error)
        if text is not None and text not in getattr(error, "__notes__", ()):
            error.add_note(text)
        raise
