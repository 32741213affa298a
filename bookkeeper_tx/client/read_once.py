"""Reading as many entries as one bookie returns for one request."""

from bookkeeper_tx.client.batch_read import require_batch_read
from bookkeeper_tx.client.ledger_entries import LedgerEntries, without_payloads
from bookkeeper_tx.client.ledger_view import LedgerView
from bookkeeper_tx.client.read_prefix import ReadStyle
from bookkeeper_tx.client.read_striped import start_prefix_read
from bookkeeper_tx.client.tailing import wait_last_add_confirmed
from bookkeeper_tx.driver import Promise
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import BatchReadNotSupported, BookKeeperError, InvalidArgument, LocalError


def read_batch(
    reader: LedgerView,
    start: int,
    max_count: int,
    max_size: int,
    fallback: bool,
    end: int,
    fast_fail: bool = False,
) -> "Promise[LedgerEntries]":
    """Read from ``start`` on, at most to ``end``; without ``fallback`` by batch read or not at all."""
    driver = reader.context.driver
    try:
        style = _style_of(reader, start, max_count, max_size, fallback)
    except LocalError as error:
        return driver.fail(error)
    if start > end:
        return driver.fail(reader.out_of_range("start_entry_id", start, last=end))
    frame_size = reader.context.config.frame_size_max
    size = min(max_size, frame_size) if max_size else frame_size
    last = min(end, start + max_count - 1) if max_count else end
    deferred: Promise[LedgerEntries] = driver.promise()

    def done(error: BookKeeperError | None, payloads: list[bytes], run: EntryRun | None) -> None:
        if run is None:
            assert error is not None
            deferred.errback(error)
        else:
            reader.window.learn(run)
            deferred.callback(LedgerEntries(reader.ledger_id, start, payloads, [without_payloads(run)]))

    start_prefix_read(reader, start, last, size, style, done, fast_fail)
    return deferred


async def read_batch_when_confirmed(
    reader: LedgerView,
    start: int,
    max_count: int,
    max_size: int,
    fallback: bool,
    fast_fail: bool,
    previous: int,
    timeout_s: float,
) -> LedgerEntries:
    """Wait until the last add confirmed is past ``previous``, then read up to it as :func:`read_batch` does.

    The result is empty if ``start`` is not confirmed then.
    """
    _style_of(reader, start, max_count, max_size, fallback)
    end = await wait_last_add_confirmed(reader, previous, timeout_s, "previous_last_add_confirmed")
    if start > end:
        return LedgerEntries(reader.ledger_id, start, [], [])
    return await read_batch(reader, start, max_count, max_size, fallback, end, fast_fail)


def _style_of(reader: LedgerView, start: int, max_count: int, max_size: int, fallback: bool) -> ReadStyle:
    """Return the requests to read with; raises InvalidArgument and BatchReadNotSupported."""
    for name, value in (("start_entry_id", start), ("max_count", max_count), ("max_size", max_size)):
        if not isinstance(value, int) or value < 0:
            raise InvalidArgument(f"{name} {value!r} must be an integer of at least 0")
    try:
        require_batch_read(reader.quorum.striped, reader.context.config)
    except BatchReadNotSupported:
        if not fallback:
            raise
        return ReadStyle.SINGLES
    return ReadStyle.BATCH_ELSE_SINGLES if fallback else ReadStyle.BATCH_ONLY
