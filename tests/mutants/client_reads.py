"""Defects of a client: what it reads, and what it believes."""

from typing import Any

from bookkeeper_tx.client import capability, ledger_reader
from bookkeeper_tx.client.batch_read import BatchAttempt
from bookkeeper_tx.client.last_entries import LastEntryAnswers
from bookkeeper_tx.client.read_entry import EntryRead
from bookkeeper_tx.client.read_prefix import PrefixRead
from bookkeeper_tx.client.read_range import RangeRead
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import BadRequest, BadVersion, BookieUnavailable, BookKeeperError
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.protocol.client import v2_waiting
from bookkeeper_tx.quorums.quorum import Quorum
from protocol_specs import codecs, fields
from protocol_specs.entry import v1
from tests.mutants.mutant import CLIENT, Defects, instead_of

DEFECTS = Defects(CLIENT)
defect = DEFECTS.defect

_METADATA = codecs.derive("entry", v1.ENTRY_METADATA)


def _unchecked(digest_type: DigestType) -> None:
    """Believe entries of a digest type whatever their digest is."""

    @instead_of(EntryDigest, "verify")
    def verify(original: Any, self: Any, ledger_id: int, entry_id: Any, entry: bytes) -> Any:
        if self.digest_type is digest_type and len(entry) >= self.payload_offset:
            entry = bytes(entry)
            metadata, payload = entry[: _METADATA.size], entry[self.payload_offset :]
            entry = metadata + self._compute(metadata, payload) + payload
        return original(self, ledger_id, entry_id, entry)

    @instead_of(EntryDigest, "verify_run")
    def verify_run(original: Any, self: Any, run: Any) -> Any:
        if self.digest_type is digest_type:
            return self._verify_each(run.ledger_id, run.first_entry_id, run)
        return original(self, run)


@defect("CDIGEST")
def the_digest_crc32c_is_not_checked() -> None:
    """Entries protected by CRC32C are believed unseen."""
    _unchecked(DigestType.CRC32C)


@defect("CDIGEST")
def the_digest_crc32_is_not_checked() -> None:
    """Entries protected by CRC32 are believed unseen."""
    _unchecked(DigestType.CRC32)


@defect("CDIGEST")
def the_digest_hmac_is_not_checked() -> None:
    """Entries protected by HMAC-SHA-1 are believed unseen."""
    _unchecked(DigestType.MAC)


@defect("CDIGEST", "CREAD")
def an_entry_of_other_ids_is_believed() -> None:
    """An entry with a good digest is taken for the one asked for, whatever ids are in it."""

    @instead_of(EntryDigest, "verify")
    def verify(original: Any, self: Any, ledger_id: int, entry_id: Any, entry: bytes) -> Any:
        if len(entry) < _METADATA.size:
            return original(self, ledger_id, entry_id, entry)
        found_ledger, found_entry, *_ = _METADATA.unpack_fixed(entry[: _METADATA.size])
        return original(self, found_ledger, found_entry, entry)

    @instead_of(EntryDigest, "verify_run")
    def verify_run(original: Any, self: Any, run: Any) -> Any:
        return self._verify_each(run.ledger_id, run.first_entry_id, run)  # or the client waits: run and entry disagree


@defect("CREAD", "CBATCH")
def reads_go_past_the_end() -> None:
    """Reads are not cut at the last entry that may be read: entries after the end of a closed ledger are returned."""
    for name in ("read_range", "read_batch"):

        @instead_of(ledger_reader, name)
        def read(original: Any, *arguments: Any) -> Any:
            return original(*arguments[:-1], fields.ENTRY_ID_MAX)

    @instead_of(ledger_reader.LedgerReader, "read_entry")
    def read_entry(original: Any, self: Any, entry_id: int) -> Any:
        read = EntryRead(self, entry_id)
        read.start()
        return read.deferred


@defect("CBATCH")
def a_batch_is_not_cut_at_the_end() -> None:
    """Of a batch reply that goes past the end of a closed ledger everything is returned (D7)."""

    @instead_of(PrefixRead, "_verify_run")
    def verify_run(original: Any, self: Any, run: Any) -> None:
        last, self._last = self._last, fields.ENTRY_ID_MAX
        size, self._max_size = self._max_size, 1 << 40
        original(self, run)
        self._last, self._max_size = last, size


@defect("CBATCH")
def a_closed_probe_is_an_error() -> None:
    """A bookie that closes the connection on a batch read is not read singly."""

    @instead_of(BatchAttempt, "_probe_replied")
    def probe_replied(original: Any, self: Any, error: Any, run: Any) -> None:
        if isinstance(error, BookieUnavailable):
            self._context.capabilities.unknown(self._bookie_id, error)
            self._done(error, None)
        else:
            original(self, error, run)


@defect("CBATCH")
def a_bad_request_to_a_probe_is_an_error() -> None:
    """A bookie that answers a batch read with EBADREQ is not read singly."""
    capability.NOT_UNDERSTOOD = (BadVersion,)  # type: ignore[assignment]


@defect("CBATCH")
def a_bad_version_to_a_probe_is_an_error() -> None:
    """A bookie that answers a batch read with EBADVERSION is not read singly."""
    capability.NOT_UNDERSTOOD = (BadRequest,)  # type: ignore[assignment]


@defect("CBATCH")
def the_probe_travels_with_all_else() -> None:
    """The first batch read to an unknown bookie goes down the shared connection, and may end all that is on it."""

    @instead_of(BatchAttempt, "_probe")
    def probe(original: Any, self: Any) -> None:
        self._send(self._probe_replied, own_connection=False)


@defect("CBATCH")
def a_short_batch_is_the_end() -> None:
    """A batch reply with fewer entries than asked for counts as the whole range."""

    @instead_of(RangeRead, "_prefix_read")
    def prefix_read(original: Any, self: Any, request: Any, error: Any, payloads: Any, run: Any) -> None:
        if run is not None:
            payloads += payloads[-1:] * (request.last + 1 - request.first - len(payloads))
        original(self, request, error, payloads, run)


@defect("CREAD")
def only_the_first_replica_is_asked() -> None:
    """A read fails with the first bookie that fails, though others have the entry."""

    @instead_of(EntryRead, "_ask_next")
    def ask_next(original: Any, self: Any, error: BookKeeperError) -> None:
        self._fail(error)


@defect("CBATCH", "CREAD")
def only_the_first_replica_is_asked_for_a_range() -> None:
    """A read of a range, by batch or singly, fails with the first bookie that fails."""

    @instead_of(PrefixRead, "_ask_next")
    def ask_next(original: Any, self: Any, error: BookKeeperError) -> None:
        self._done(error, [], None)


@defect("CREAD", "CREC")
def one_answer_tells_the_last_add_confirmed() -> None:
    """The first bookie that answers tells the last add confirmed, though others may know of later entries."""
    Quorum.covered = lambda self, answered: bool(answered)  # type: ignore[method-assign]


@defect("CREAD", "CREC")
def the_last_entry_counts_as_confirmed() -> None:
    """The last entry of a bookie is taken for the last add confirmed, instead of what is in it."""

    @instead_of(LastEntryAnswers, "learn_entry")
    def learn(original: Any, self: Any, entry: bytes) -> None:
        original(self, entry)
        self._last_add_confirmed = max(self._last_add_confirmed, *self._lengths)


@defect("CREAD", "CWRITE")
def an_unknown_status_is_success() -> None:
    """A V2 reply with a status that nobody knows counts as EOK."""
    from bookkeeper_tx.errors import RemoteError

    @instead_of(v2_waiting, "error_of_code")
    def error_of_code(original: Any, code: int) -> Any:
        error = original(code)
        return None if type(error) is RemoteError else error


@defect("CBATCH")
def a_batch_reply_answers_any_request() -> None:
    """The request id of a V2 batch reply is not looked at: it answers the oldest request."""
    from bookkeeper_tx.protocol.client.correlation import Correlation

    @instead_of(v2_waiting.WaitingRequests, "__init__")
    def init(original: Any, self: Any, *arguments: Any) -> None:
        original(self, *arguments)

        class Oldest(Correlation):
            __slots__ = ()

            def pop(self, key: Any) -> Any:
                return super().pop(next(iter(self._waiting), key))

        self.batches.__class__ = Oldest
