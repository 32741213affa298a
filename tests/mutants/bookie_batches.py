"""Defects of a bookie: what its batch reads bring."""

from typing import Any

from bookkeeper_tx.bookie.operations import batch_read, read_entry
from bookkeeper_tx.protocol.bookie import v2
from protocol_specs.wire import status
from tests.mutants.mutant import BOOKIE, Defects, instead_of

DEFECTS = Defects(BOOKIE)
defect = DEFECTS.defect


@defect("BATCH", "STATE")
def the_batch_budget_is_one_too_large() -> None:
    """A batch may have one byte more than the size asked for."""
    batch_read.BATCH_REPLY_SIZE -= 1


@defect("BATCH", "STATE")
def the_batch_budget_leaves_out_the_length_words() -> None:
    """The length before each entry is not counted."""

    @instead_of(batch_read._Batch, "_fitting")
    def fitting(original: Any, self: Any, run: Any, entry_id: int) -> Any:
        left, self._size_left = self._size_left, self._size_left + 4
        try:
            return original(self, run, entry_id)
        finally:
            self._size_left = left


def _changes_batch(change: Any) -> None:
    @instead_of(batch_read._Batch, "__init__")
    def init(original: Any, self: Any, *arguments: Any) -> None:
        original(self, *arguments)
        change(self, arguments[1])


@defect("BATCH")
def a_batch_has_one_entry_too_many() -> None:
    """A batch of n entries has n + 1."""

    def more(batch: Any, request: Any) -> None:
        if 0 < request.max_count < 2**31 - 1:
            batch._count_left += 1

    _changes_batch(more)


@defect("BATCH", "STATE")
def a_batch_skips_its_first_entry() -> None:
    """A batch starts after the entry asked for."""

    def skip(batch: Any, request: Any) -> None:
        if batch._next_id >= 0 and batch._ledger.last_entry_id > batch._next_id:
            batch._next_id += 1

    _changes_batch(skip)


@defect("BATCH")
def a_batch_size_of_0_is_no_limit() -> None:
    """A max size of 0 is taken for none, where it leaves room for one entry."""

    def unlimited(batch: Any, request: Any) -> None:
        if request.max_size <= 0:
            batch._size_left = 1 << 20

    _changes_batch(unlimited)


@defect("BATCH")
def a_batch_count_of_0_is_refused() -> None:
    """A max count of 0 or less is answered EBADREQ, where it is no limit."""

    @instead_of(batch_read.BatchRead, "serve")
    def serve(original: Any, self: Any, request: Any, connection: Any) -> None:
        if request.max_count <= 0:
            connection.reply(request, status.EBADREQ, [request.error(status.EBADREQ)])
        else:
            original(self, request, connection)


@defect("BATCH")
def a_batch_passes_over_holes() -> None:
    """A batch goes on after an entry that is not there, so its entries are not consecutive."""

    @instead_of(batch_read._Batch, "_take")
    def take(original: Any, self: Any, found: Any) -> Any:
        if found is status.ENOENTRY and self._slices and self._next_id < self._ledger.last_entry_id:
            self._next_id += 1
            return True
        return original(self, found)


@defect("BATCH")
def a_large_first_entry_is_not_brought() -> None:
    """A first entry over the budget gives "no such entry", where it must come whatever its size."""

    @instead_of(batch_read._Batch, "_take")
    def take(original: Any, self: Any, found: Any) -> Any:
        if not isinstance(found, status.Status) and not self._slices:
            entry_id = read_entry.stored_id(self._next_id, self._ledger)
            if isinstance(entry_id, int) and self._fitting(found, entry_id) < 1:
                self._reply(status.ENOENTRY)
                return False
        return original(self, found)


@defect("BATCH", "STATE")
def a_batch_reply_has_request_id_0() -> None:
    """The request id of a V2 batch read is not echoed."""

    @instead_of(v2.BatchReadRequest, "__init__")
    def init(original: Any, self: Any, *arguments: Any) -> None:
        original(self, *arguments)
        self.request_id = 0
