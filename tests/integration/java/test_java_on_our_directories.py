"""A Java bookie takes over the directories of a killed bookie of ours, and ours those of a killed Java bookie.

Cookies fit when id, directories and cluster are the same, so each starts under the other's port.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import frozen

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.journal.last_mark import read_last_mark
from bookkeeper_tx.errors import LedgerFenced, NoSuchLedger, Unauthorized
from bookkeeper_tx.testing.local_cluster import BookieFailed, LocalBookie
from compat_tests.targets.payloads import hash_of, patterns
from compat_tests.targets.ports import choose_port
from tests.integration.support import raw_requests
from tests.integration.support.our_client import OurClient, append, poll, read, wait_for
from tests.sampling import only

pytestmark = pytest.mark.java

#: Flushed by size only, in small entry logs: the test decides which entries are only in the journal.
SETTINGS = {"skipListSizeLimit": 1 << 20, "logSizeLimit": 1 << 20, "journalMaxSizeMB": 1, "flushInterval": 3_600_000}

COLLECTING = {
    **SETTINGS,
    "gcWaitTime": 300,
    "minorCompactionInterval": 1,
    "majorCompactionInterval": 2,
    "majorCompactionThreshold": 0.99,
    "compactionRateByEntries": 1_000_000,
}
"""Garbage is collected, and logs are compacted, all the time."""

UNKNOWN_LEDGER = 4711


@pytest.fixture
def our_bookie() -> Iterator[Callable[..., LocalBookie]]:
    """Makes bookies of ours, not started, with their journals apart from the rest, as Java's fixture has them."""
    bookies = []

    def make(
        directory: Path, uri: str, port: int = 0, *options: str, settings: dict[str, float] = SETTINGS
    ) -> LocalBookie:
        bookie = LocalBookie(directory, uri, settings, ["--journal-dir", str(directory / "journal"), *options])
        bookie.port = port or choose_port()
        bookies.append(bookie)
        return bookie

    yield make
    for bookie in bookies:
        bookie.kill()


def start(bookie: LocalBookie) -> None:
    bookie.launch()
    bookie.wait_until_ready()


def directories_of(bookie: LocalBookie) -> dict[str, Path]:
    """Options for a Java bookie in the same place."""
    return {"journal_dir": bookie.directory / "journal", "ledger_dir": bookie.directory / "data"}


def current_files(bookie: LocalBookie, suffix: str) -> list[str]:
    return sorted(path.name for path in bookie.directory.rglob(f"current/**/*{suffix}"))


@frozen
class Stored:
    """The acknowledged entries, by ledger id."""

    flushed: int
    journalled: int
    both: int
    empty: int


FLUSHED = patterns(2000, 1000, seed=1)
JOURNALLED = patterns(150, 1000, seed=2)


def logged(bookie: LocalBookie) -> int:
    """Bytes of its entry logs."""
    return sum(path.stat().st_size for path in bookie.directory.rglob("current/*.log"))


def fill_until_flushed(ours: OurClient, bookie: LocalBookie) -> None:
    """Leave the write cache nearly empty: the next entries stay in it, and in the journal."""

    def mark() -> object:
        return read_last_mark(Disk(), [str(bookie.directory / "data" / "current")])

    filler = ours.create_ledger()
    for _ in range(2):  # the first flush may have begun while much more came in; the second begins amid these few
        before, size = mark(), logged(bookie)

        def flushed(before: object = before, size: int = size) -> bool:
            if logged(bookie) == size:
                append(filler, FLUSHED[:50])
            return mark() != before

        assert poll(flushed)


def write(ours: OurClient, bookie: LocalBookie) -> Stored:
    """Fill several entry logs, and then leave entries that are in the journal alone."""
    for _ in range(5):  # the bookie may flush once more by itself
        both, flushed, journalled = ours.create_ledger(password=b"secret"), ours.create_ledger(), ours.create_ledger()
        append(both, FLUSHED)
        append(flushed, FLUSHED)
        fill_until_flushed(ours, bookie)
        size = logged(bookie)
        append(both, JOURNALLED)
        append(journalled, JOURNALLED)
        if logged(bookie) == size:
            return Stored(flushed.ledger_id, journalled.ledger_id, both.ledger_id, ours.create_ledger().ledger_id)
    raise AssertionError("the bookie flushed whatever was written")


def check(ours: OurClient, stored: Stored) -> None:
    """Recover and read it all: a recovering client would cut a ledger where the bookie denies an entry."""
    both = ours.open_ledger(stored.both, password=b"secret")
    assert read(both, 0, both.last_add_confirmed) == FLUSHED + JOURNALLED
    for ledger_id, expected in ((stored.flushed, FLUSHED), (stored.journalled, JOURNALLED)):
        reader = ours.open_ledger(ledger_id)
        assert read(reader, 0, reader.last_add_confirmed, batch=True) == expected
    assert ours.open_ledger(stored.empty).last_add_confirmed == -1


def test_java_serves_what_ours_acknowledged(java_release, cluster, java_bookie, our_bookie, java_client, tmp_path):
    bookie = our_bookie(tmp_path, cluster.uri)
    start(bookie)
    with OurClient(cluster.uri) as ours:
        stored = write(ours, bookie)
        assert len(current_files(bookie, ".log")) > 1
        assert len(current_files(bookie, ".txn")) > 1
        bookie.kill()
        cluster.unregister(bookie.bookie_id)

        java = java_bookie(java_release, port=bookie.port, **directories_of(bookie))
        check(ours, stored)
        reader = java_client(java_release).open_ledger(stored.both, password=b"secret")
        assert reader.read_hash(0, reader.opened_at) == (2150, hash_of(FLUSHED + JOURNALLED))

        # It goes on there; after its own kill, ours serves all its entries again.
        more = ours.create_ledger()
        append(more, FLUSHED[:100])
        java.kill(expire=True)
        start(bookie)
        check(ours, stored)
        assert read(ours.open_ledger(more.ledger_id), 0, 99) == FLUSHED[:100]
    assert bookie.stop() == 0


@pytest.mark.full
def test_java_serves_what_ours_has_left_after_a_collection(java_release, cluster, java_bookie, our_bookie, tmp_path):
    """Entries that a compaction has moved, and a journal that says which ledgers were deleted."""
    bookie = our_bookie(tmp_path, cluster.uri, settings=COLLECTING)
    start(bookie)
    with OurClient(cluster.uri) as ours:
        stored = write(ours, bookie)
        wait_for(ours.bookkeeper.delete_ledger, stored.flushed)
        index = f"{stored.flushed:x}.idx"
        assert index in current_files(bookie, ".idx")
        assert poll(lambda: index not in current_files(bookie, ".idx"))
        assert poll(lambda: "compacted" in bookie.log)
        bookie.kill()
        cluster.unregister(bookie.bookie_id)

        java_bookie(java_release, port=bookie.port, **directories_of(bookie))
        both = ours.open_ledger(stored.both, password=b"secret")
        assert read(both, 0, both.last_add_confirmed) == FLUSHED + JOURNALLED
        journalled = ours.open_ledger(stored.journalled)
        assert read(journalled, 0, journalled.last_add_confirmed) == JOURNALLED


@pytest.mark.full
def test_java_keeps_the_fences_of_ours(java_release, cluster, java_bookie, our_bookie, tmp_path):
    """Fences of ledgers that are flushed, only in the journal, or never written to.  In a directory of its own Java
    would lose the last kind, since it journals no key before such a fence; in a directory of ours it keeps all."""
    bookie = our_bookie(tmp_path, cluster.uri)
    start(bookie)
    with OurClient(cluster.uri) as ours:
        stored = write(ours, bookie)
        for ledger_id, password in ((stored.both, b"secret"), (stored.flushed, b""), (stored.journalled, b"")):
            assert raw_requests.fence(bookie.port, ledger_id, password=password) is None
        raw_requests.fence(bookie.port, UNKNOWN_LEDGER)
        bookie.kill()
        cluster.unregister(bookie.bookie_id)

        java_bookie(java_release, port=bookie.port, **directories_of(bookie))
        for ledger_id in (stored.flushed, stored.journalled, UNKNOWN_LEDGER):
            with pytest.raises(LedgerFenced):
                raw_requests.add(bookie.port, ledger_id, 10_000, [b"too late"])
        with pytest.raises(LedgerFenced):
            raw_requests.add(bookie.port, stored.both, 10_000, [b"too late"], password=b"secret")
        check(ours, stored)


def check_ours_takes_over(java, how: str, bookie: LocalBookie, uri: str) -> None:
    """Ours serves on the directories of ``java`` what that has acknowledged, and knows its fences and keys."""
    with OurClient(uri) as ours:
        stored = write(ours, bookie)
        fenced = ours.create_ledger()
        append(fenced, JOURNALLED)
        assert raw_requests.fence(java.port, fenced.ledger_id) is None
        append(ours.create_ledger(), [b"an add behind the fence, or an orderly stop of Java would lose it"])
        if how == "killed":
            java.kill(expire=True)
        else:
            java.stop()

        start(bookie)
        assert bookie.bookie_id == java.bookie_id
        with pytest.raises(LedgerFenced):
            raw_requests.add(bookie.port, fenced.ledger_id, len(JOURNALLED), [b"too late"])
        with pytest.raises(Unauthorized):
            raw_requests.add(bookie.port, stored.both, 10_000, [b"not mine"], password=b"wrong")
        with pytest.raises(NoSuchLedger):
            wait_for(ours.bookkeeper.open_ledger, UNKNOWN_LEDGER)
        check(ours, stored)
    assert bookie.stop() == 0


@pytest.mark.parametrize("how", only("killed", ["killed", "stopped"]))
def test_ours_serves_what_java_acknowledged(java_release, cluster, java_bookie, our_bookie, tmp_path, how):
    java = java_bookie(
        java_release,
        journal_dir=tmp_path / "journal",
        ledger_dir=tmp_path / "data",
        settings=SETTINGS,
    )
    check_ours_takes_over(java, how, our_bookie(tmp_path, cluster.uri, java.port), cluster.uri)


@pytest.mark.full
def test_ours_refuses_what_it_could_not_serve(java_release, cluster, java_bookie, our_bookie, tmp_path):
    """It would answer "no such entry" for entries of a Java bookie of another kind, id or cluster."""
    db = java_bookie(java_release, journal_dir=tmp_path / "journal", ledger_dir=tmp_path / "data", storage="db")
    db.kill(expire=True)
    with pytest.raises(BookieFailed, match="DbLedgerStorage"):
        start(our_bookie(tmp_path, cluster.uri, db.port))
    sorted_one = tmp_path / "sorted"
    java = java_bookie(java_release, journal_dir=sorted_one / "journal", ledger_dir=sorted_one / "data")
    java.kill(expire=True)
    with pytest.raises(BookieFailed, match="bookie id"):
        start(our_bookie(sorted_one, cluster.uri, java.port, "--bookie-id", "another"))
    assert cluster.writable_ids() == []
