"""Defects of a bookie: what its replies bring."""

from typing import Any

from bookkeeper_tx.bookie.operations import list_entries, long_poll, read_entry
from bookkeeper_tx.bookie.operations.bookie_info import BookieInfo
from bookkeeper_tx.bookie.operations.lac_watch import LacWatch
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.entry import entry_list
from bookkeeper_tx.protocol.bookie import v2, v3, v3_replies
from bookkeeper_tx.protocol.v2_frames import READ_REPLY, REPLY_LENGTH
from protocol_specs import fields
from protocol_specs.wire import framing, status, v3_pb2
from tests.mutants.mutant import BOOKIE, Defects, instead_of

DEFECTS = Defects(BOOKIE)
defect = DEFECTS.defect


@defect("READ", "STATE")
def an_error_brings_a_body() -> None:
    """A V2 read reply that is no EOK goes on behind the ids."""

    @instead_of(v2.ReadRequests, "replies")
    def replies(original: Any, self: Any, answers: Any, last_add_confirmed: int) -> list[Any]:
        return [
            READ_REPLY.pack_fixed(REPLY_LENGTH + 4, *READ_REPLY.unpack_fixed(reply)[1:]) + bytes(4)
            if len(reply) == READ_REPLY.size and READ_REPLY.unpack_fixed(reply)[2] != status.OK
            else reply
            for reply in original(self, answers, last_add_confirmed)
        ]


@defect("READ", "STATE", "ADD")
def an_entry_loses_its_last_byte() -> None:
    """A read brings the entry without its last byte."""

    @instead_of(read_entry, "entries_of")
    def entries_of(original: Any, run: Any, index: int, count: int) -> list[Any]:
        return [entry[:-1] for entry in original(run, index, count)]

    from bookkeeper_tx.entry.entry_run import EntryRun

    @instead_of(EntryRun, "entry")
    def entry(original: Any, self: Any, entry_id: int) -> Any:
        return original(self, entry_id)[:-1]


@defect("READ", "STATE")
def the_last_entry_is_the_first() -> None:
    """Entry -1 means the first entry instead of the last."""

    @instead_of(read_entry, "stored_id")
    def stored_id(original: Any, entry_id: int, ledger: Any) -> Any:
        found = original(entry_id, ledger)
        return 0 if entry_id == fields.LAST_ENTRY and isinstance(found, int) else found


@defect("READ", "ADD", "FRAME", "ISOL")
def replies_get_each_others_transaction_ids() -> None:
    """The replies to V3 reads that came together bear each other's transaction ids."""

    @instead_of(v3.ReadRequests, "replies")
    def replies(original: Any, self: Any, answers: Any, last_add_confirmed: int) -> Any:
        self._txn_ids = self._txn_ids[::-1]
        return original(self, answers, last_add_confirmed)


@defect("READ", "STATE")
def the_part_always_says_ok() -> None:
    """The part of a V3 reply says EOK whatever the status of the whole is."""

    @instead_of(v3_replies, "served")
    def served(original: Any, *arguments: Any, **part: Any) -> Any:
        whole, carried = original(*arguments, **part)
        carried.status = v3_pb2.EOK
        return whole, carried


@defect("STATE", "DETECT", "READ", "ADD")
def replies_are_always_of_version_2() -> None:
    """The version of a V2 request is not echoed: replies always say 2."""
    framing.reply_header = lambda header: framing.join_header(2, framing.split_header(header)[1])


@defect("STATE", "READ", "ADD")
def replies_echo_the_flags() -> None:
    """The flags of a V2 request come back in the reply, which must have none."""
    framing.reply_header = lambda header: header


@defect("LAC", "READ")
def max_lac_is_one_too_high() -> None:
    """V3 reads tell a last add confirmed that is one too high."""

    @instead_of(v3.ReadRequests, "replies")
    def replies(original: Any, self: Any, answers: Any, last_add_confirmed: int) -> Any:
        return original(self, answers, last_add_confirmed + 1)


@defect("LAC")
def a_longer_explicit_lac_is_cut() -> None:
    """A body of WRITE_LAC that is longer than the one before it is cut to its size, and acknowledged (S5)."""

    @instead_of(LedgerStorage, "set_explicit_lac")
    def set_explicit_lac(original: Any, self: Any, ledger: Any, body: bytes) -> None:
        original(self, ledger, body if ledger.explicit_lac is None else body[: len(ledger.explicit_lac)])


@defect("LAC")
def a_lower_explicit_lac_overwrites_a_higher_one() -> None:
    """The explicit last add confirmed goes back when a lower one is written."""

    @instead_of(LedgerStorage, "set_explicit_lac")
    def set_explicit_lac(original: Any, self: Any, ledger: Any, body: bytes) -> None:
        ledger.explicit_lac = None
        original(self, ledger, body)


@defect("LAC", "STATE")
def read_lac_lacks_the_last_entry() -> None:
    """READ_LAC brings the explicit last add confirmed only."""

    @instead_of(v3.ReadLacRequest, "reply")
    def reply(original: Any, self: Any, answer: Any, explicit: Any, entry: Any) -> Any:
        return original(self, answer, explicit, None)


@defect("LAC")
def the_explicit_lac_is_no_news() -> None:
    """A WRITE_LAC does not move the last add confirmed that reads and polls report."""

    @instead_of(LedgerStorage, "set_explicit_lac")
    def set_explicit_lac(original: Any, self: Any, ledger: Any, body: bytes) -> None:
        before = ledger.last_add_confirmed
        original(self, ledger, body)
        ledger.last_add_confirmed = before


@defect("POLL", "STATE")
def a_long_poll_is_answered_at_once() -> None:
    """A long poll does not wait."""

    @instead_of(LacWatch, "wait")
    def wait(original: Any, self: Any, ledger_id: int, previous: int, ms: int, connection: Any, then: Any) -> bool:
        then(None)
        return True


@defect("POLL")
def a_long_poll_is_not_woken() -> None:
    """An add does not end the wait of a long poll: it lasts its whole time."""
    LacWatch.advanced = lambda self, ledger: None  # type: ignore[method-assign]


@defect("POLL", "FENCE")
def a_fence_does_not_wake_a_long_poll() -> None:
    """A fence ends no wait."""
    LacWatch.fenced = lambda self, ledger: None  # type: ignore[method-assign]


@defect("POLL", "STATE")
def a_long_poll_brings_the_entry_before() -> None:
    """A long poll brings the entry that the reader knows instead of the next one."""

    @instead_of(long_poll, "_wanted")
    def wanted(original: Any, request: Any, ledger: Any) -> Any:
        found = original(request, ledger)
        return max(found - 1, 0) if isinstance(found, int) and request.piggyback else found


@defect("POLL")
def a_long_poll_tells_no_time() -> None:
    """A long poll that an update has ended does not tell when that was."""

    @instead_of(v3.LongPollRequest, "reply")
    def reply(original: Any, self: Any, entry_id: int, answer: Any, last: int, updated: Any) -> Any:
        return original(self, entry_id, answer, last, None)


@defect("LIST", "STATE")
def a_list_lacks_its_last_entry() -> None:
    """The last entry is missing from the list of entries."""

    @instead_of(list_entries, "united")
    def united(original: Any, *several: Any) -> Any:
        found = list(original(*several))
        return [*found[:-1], range(found[-1].start, found[-1].stop - 1)] if found else found


@defect("LIST", "STATE")
def a_list_counts_its_entries_in_its_header() -> None:
    """The header of a list of entries says how many entries there are instead of how many groups (D3)."""

    @instead_of(entry_list, "encode_ranges")
    def encode_ranges(original: Any, ranges: Any) -> bytes:
        ranges = list(ranges)
        made: bytes = original(ranges)
        return made[:4] + sum(map(len, ranges)).to_bytes(4, "big") + made[8:]


@defect("INFO")
def bookie_info_tells_what_nobody_asked_for() -> None:
    """Both numbers come, whichever was asked for."""

    @instead_of(BookieInfo, "serve")
    def serve(original: Any, self: Any, request: Any, connection: Any) -> None:
        request.requested = 3
        original(self, request, connection)


@defect("SCOPE", "READ", "ADD")
def the_scope_is_left_out() -> None:
    """The scope of a V3 read is ignored, so ledgers of other scopes are taken for those of scope 0."""

    @instead_of(v3.ReadRequests, "__init__")
    def init(original: Any, self: Any, message: Any) -> None:
        original(self, message)
        self.ledger_id = self._ledger_id


@defect("READ", "BATCH", "LAC")
def reads_are_cut_at_the_last_add_confirmed() -> None:
    """Reads of entries after the last add confirmed are answered "no such entry": recovery would lose them."""

    @instead_of(read_entry, "stored_id")
    def stored_id(original: Any, entry_id: int, ledger: Any) -> Any:
        return status.ENOENTRY if entry_id > ledger.last_add_confirmed else original(entry_id, ledger)


@defect("LAC", "STATE")
def a_short_write_lac_closes_the_connection() -> None:
    """A WRITE_LAC whose body is too short ends the connection."""
    from bookkeeper_tx.errors import ProtocolViolation
    from bookkeeper_tx.protocol.bookie import v3_last_add_confirmed

    @instead_of(v3_last_add_confirmed, "_named_in")
    def named_in(original: Any, body: bytes, scope_id: int) -> Any:
        if len(body) < 16:
            raise ProtocolViolation("a body that is too short")
        return original(body, scope_id)
