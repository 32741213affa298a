"""The check of copies: they are counted, named and hashed."""

import pytest

from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import (
    BookieUnavailable,
    BookKeeperError,
    NoSuchEntry,
    NoSuchLedger,
    ReadOnlyBookie,
    RequestTimedOut,
    StorageFailed,
    Unauthorized,
)
from bookkeeper_tx.model import DigestType, LedgerId
from bookkeeper_tx.spark.replicas import check
from bookkeeper_tx.spark.replicas.check import Tally, judged
from bookkeeper_tx.spark.replicas.copies import Absent
from tests.spark.replicas.kept_copies import DIGEST, LEDGER, sealed

COUNT = 20


def run_of(entries: list[bytes], first: int = 0, ledger_id: int = LEDGER) -> EntryRun:
    return EntryRun.of_entries(ledger_id, first, entries)


def entries_of_one_size() -> list[bytes]:
    return [sealed(entry_id, b"%05d" % entry_id) for entry_id in range(COUNT)]


def equal_run(entries: list[bytes], prefix: int) -> EntryRun:
    """The entries as single reads return them: each after a header, and equally far apart."""
    stride = prefix + len(entries[0])
    buffer = b"?" * 7 + b"".join(b"h" * prefix + entry for entry in entries)
    return EntryRun(LEDGER, 0, buffer, range(7, len(buffer) + 1, stride), prefix)


def tally(*found: EntryRun | Absent, ids: range = range(COUNT), digest: EntryDigest = DIGEST) -> Tally:
    result = Tally(LEDGER, ids, digest)
    for each in found:
        result.add(each)
    return result


def flipped(entry: bytes) -> bytes:
    return entry[:-1] + bytes([entry[-1] ^ 1])


def test_all_is_well() -> None:
    entries = [sealed(entry_id) for entry_id in range(COUNT)]
    values = tally(run_of(entries)).values()
    assert (values["expected"], values["present"], values["verdict"], values["error"]) == (COUNT, COUNT, "ok", None)
    assert values["bytes"] == sum(map(len, entries))


def test_the_hash_depends_on_the_entries_and_not_on_how_they_came() -> None:
    entries = entries_of_one_size()
    one = tally(run_of(entries))
    parts = tally(run_of(entries[:7]), *(run_of([entries[index]], index) for index in range(7, COUNT)))
    equal = tally(equal_run(entries, 20))
    assert len({each.values()["sha256"] for each in (one, parts, equal)}) == 1
    assert equal.values() == one.values()


def test_the_hash_is_blind_to_the_last_add_confirmed_only() -> None:
    entries = entries_of_one_size()
    recovered = [*entries[:-1], sealed(COUNT - 1, b"%05d" % (COUNT - 1), lac=COUNT - 2)]
    replaced = [*entries[:-1], sealed(COUNT - 1, b"other")]
    hashes = [tally(run_of(each)).values()["sha256"] for each in (entries, recovered, replaced)]
    assert hashes[0] == hashes[1] != hashes[2]
    assert tally(run_of(replaced)).verdict == "ok"


def test_corrupt_entries_are_named() -> None:
    entries = [sealed(entry_id) for entry_id in range(COUNT)]
    entries[3], entries[9] = flipped(entries[3]), b"short"
    values = tally(run_of(entries)).values()
    assert (values["verdict"], values["corrupt"], values["corrupt_entries"]) == ("corrupt", 2, [3, 9])
    assert values["present"] == COUNT
    assert values["error"].startswith("corrupt: entry 3")


def test_an_entry_in_the_place_of_another_is_corrupt() -> None:
    entries = [sealed(0), sealed(2), sealed(2)]
    assert tally(run_of(entries), ids=range(3)).corrupt_entries == [1]


def test_good_entries_behind_a_bad_one_are_good() -> None:
    entries = [sealed(entry_id) for entry_id in range(4)]
    entries[1] = flipped(entries[1])
    found = [(part.first_entry_id, part.count, error is None) for part, error in judged(DIGEST, run_of(entries))]
    assert found == [(0, 1, True), (1, 1, False), (2, 1, True), (3, 1, True)]


def test_missing_entries_are_ranges() -> None:
    absent = [Absent(range(each, each + 1), NoSuchEntry()) for each in (3, 4, 7)]
    values = tally(run_of([sealed(0), sealed(1), sealed(2)]), *absent, Absent(range(8, COUNT), NoSuchLedger())).values()
    assert values["missing_ranges"] == [{"first": 3, "last": 4}, {"first": 7, "last": COUNT - 1}]
    assert (values["missing"], values["verdict"]) == (COUNT - 5, "missing")


def test_missing_entries_of_a_stripe_are_ranges_of_its_own() -> None:
    found = tally(Absent(range(1, 2), NoSuchEntry()), Absent(range(4, 5), NoSuchEntry()), ids=range(1, COUNT, 3))
    assert found.missing_ranges == [(1, 4)]


def test_many_ranges_are_counted_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "RANGES_MAX", 2)
    found = tally(*(Absent(range(each, each + 1), NoSuchEntry()) for each in range(0, COUNT, 2)))
    assert found.missing == COUNT // 2
    assert found.missing_ranges == [(0, 0), (2, 2)]


def test_nothing_is_known_of_a_bookie_that_does_not_answer() -> None:
    found = tally(run_of([sealed(0)]), Absent(range(1, COUNT), BookieUnavailable("gone")))
    values = found.values()
    assert (values["verdict"], values["unknown"], values["missing"]) == ("unknown", COUNT - 1, 0)
    assert values["error"] == "unknown: gone"
    assert tally(Absent(range(COUNT), BookieUnavailable("gone"))).values()["sha256"] is None


def test_storage_that_fails_is_an_answer() -> None:
    failed = Absent(range(1, 5), StorageFailed("bad sector"))
    found = tally(run_of([sealed(0)]), failed, Absent(range(5, COUNT), RequestTimedOut("silence")))
    values = found.values()
    assert (values["verdict"], values["storage_failed"], values["unknown"]) == ("storage-failed", 4, COUNT - 5)
    assert values["error"] == "storage-failed: bad sector; unknown: silence"


@pytest.mark.parametrize("error", [Unauthorized("no"), ReadOnlyBookie("no"), RequestTimedOut("no")], ids=repr)
def test_no_other_error_is_called_one_of_storage(error: BookKeeperError) -> None:
    values = tally(Absent(range(COUNT), error)).values()
    assert (values["verdict"], values["storage_failed"], values["error"]) == ("unknown", 0, "unknown: no")


def test_other_digests_and_formats() -> None:
    ledger_id = LedgerId(5, 7)
    for digest in (EntryDigest(DigestType.MAC, b"secret"), EntryDigest(DigestType.DUMMY, b"")):
        entries = [digest.seal(ledger_id, entry_id, -1, 3, b"abc") for entry_id in range(3)]
        found = Tally(ledger_id, range(3), digest)
        found.add(run_of(entries, ledger_id=ledger_id))
        assert found.verdict == "ok"
    wrong = Tally(LEDGER, range(1), EntryDigest(DigestType.MAC, b"wrong"))
    wrong.add(run_of([EntryDigest(DigestType.MAC, b"right").seal(LEDGER, 0, -1, 1, b"x")]))
    assert wrong.verdict == "corrupt"
