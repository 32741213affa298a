"""A bookie whose disk was wiped, as a process: it lies to nobody, and has all that it should have in the end."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bookkeeper_tx.errors import BookKeeperError, NoSuchEntry
from bookkeeper_tx.model import LedgerMetadata, LedgerState
from bookkeeper_tx.quorums.quorum import Quorum
from bookkeeper_tx.testing.local_cluster import BookieFailed, LocalBookie, LocalCluster
from tests.integration.support.adding_channel import AddingChannel
from tests.integration.support.our_client import OurClient, append, append_and_close, poll, read
from tests.sampling import only

SETTINGS = {"dataIntegrityChecking": "true", "dataIntegrityStampMissingCookies": "true", "flushInterval": 500}
WHOLE = "all entries that this bookie should have are here"
SIZES = ((2, 2, 2), (3, 2, 2), (3, 3, 2))


def payloads(count: int, size: int = 100) -> list[bytes]:
    return [index.to_bytes(8, "big") * (size // 8) for index in range(count)]


@pytest.fixture(params=only("SortedLedgerStorage", ["SortedLedgerStorage", "DbLedgerStorage"]))
def cluster(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[LocalCluster]:
    if request.param == "DbLedgerStorage":
        pytest.importorskip("rocksdict")
    settings = SETTINGS | {"ledgerStorageClass": request.param}
    with LocalCluster(tmp_path, 3, settings=settings) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[OurClient]:
    with OurClient(cluster.metadata_uri, read_timeout_s=3.0) as client:
        yield client


def wipe(bookie: LocalBookie) -> None:
    bookie.kill()
    shutil.rmtree(bookie.directory / "data")


def own_entries(metadata: LedgerMetadata, bookie: LocalBookie, end: int) -> Iterator[int]:
    quorum, starts = Quorum.of(metadata), [*(each.first_entry_id for each in metadata.fragments[1:]), end + 1]
    for fragment, stop in zip(metadata.fragments, starts, strict=True):
        for entry_id in range(fragment.first_entry_id, stop):
            if bookie.bookie_id in [fragment.ensemble[index] for index in quorum.write_set(entry_id)]:
                yield entry_id


def lacks(client: OurClient, bookie: LocalBookie, ledger_id: int) -> list[int]:
    """Return the entries that the bookie should have, and has not."""
    metadata = client.metadata(ledger_id)
    missing = []
    with AddingChannel("127.0.0.1", bookie.port) as channel:
        for entry_id in own_entries(metadata, bookie, metadata.last_entry_id):
            try:
                channel.read_entry(ledger_id, entry_id)
            except BookKeeperError:
                missing.append(entry_id)
    return missing


def is_whole(bookie: LocalBookie) -> bool:
    return WHOLE in bookie.log


def test_it_has_all_that_it_should_have_in_the_end_and_needs_no_check_then(
    cluster: LocalCluster, client: OurClient
) -> None:
    ledgers = [append_and_close(client.create_ledger(*sizes), payloads(600)) for sizes in SIZES]
    abandoned = client.create_ledger(3, 2, 2)
    append(abandoned, payloads(200))
    empty = append_and_close(client.create_ledger(3, 3, 2), [])
    bookie = cluster.bookies[0]
    wipe(bookie)
    cluster.restart(0)
    assert poll(lambda: is_whole(bookie)), bookie.log_end()
    ledgers += [int(abandoned.ledger_id), empty]
    assert [client.metadata(each).state for each in ledgers] == [LedgerState.CLOSED] * 5
    assert [lacks(client, bookie, each) for each in ledgers] == [[]] * 5
    for kill in (True, False):
        cluster.kill(0) if kill else cluster.stop_bookie(0)
        cluster.restart(0)
        assert [lacks(client, bookie, each) for each in ledgers] == [[]] * 5
        assert "checking the entries" not in bookie.log
    reader = client.open_ledger(int(abandoned.ledger_id))
    assert read(reader, 0, 199) == payloads(200)


def test_a_recovering_client_does_not_take_it_for_a_witness_of_absence(
    cluster: LocalCluster, client: OurClient
) -> None:
    writers = [client.create_ledger(2, 2, 2) for _ in range(6)]
    for writer in writers:
        append(writer, payloads(20))
    shared = [
        each
        for each in writers
        if set(client.metadata(int(each.ledger_id)).last_fragment.ensemble) != set(cluster.bookie_ids[1:])
    ]
    bookie, others = cluster.bookies[0], [1, 2]
    wipe(bookie)
    for index in others:
        cluster.kill(index)
    cluster.restart(0)
    for writer in shared:
        with pytest.raises(BookKeeperError), AddingChannel("127.0.0.1", bookie.port) as channel:
            channel.read_entry(int(writer.ledger_id), 0)
        with pytest.raises(BookKeeperError):
            client.open_ledger(int(writer.ledger_id))
        assert not client.metadata(int(writer.ledger_id)).closed
    for index in others:
        cluster.restart(index)
    assert poll(lambda: is_whole(bookie)), bookie.log_end()
    for writer in writers:
        reader = client.open_ledger(int(writer.ledger_id))
        assert read(reader, 0, 19) == payloads(20)
    assert [lacks(client, bookie, int(each.ledger_id)) for each in writers] == [[]] * 6


@pytest.mark.full
@pytest.mark.parametrize("wiped", only("data", ["journal", "data", "index"]))
def test_a_bookie_that_has_lost_one_of_its_disks_starts_and_copies(tmp_path: Path, wiped: str) -> None:
    disks = {name: tmp_path / name for name in ("journal", "data", "index")}
    with LocalCluster(tmp_path, 2, settings=SETTINGS) as cluster, OurClient(cluster.metadata_uri) as client:
        apart = ["--journal-dir", str(disks["journal"]), "--data", str(disks["data"])]
        indexes = {"indexDirectories": disks["index"]}
        bookie = cluster.bookies[cluster.add_bookie(settings=indexes, options=apart)]
        ledgers = [append_and_close(client.create_ledger(3, 3, 3), payloads(300)) for _ in range(3)]
        assert bookie.stop() == 0  # so that a mark is in the ledger directory
        cluster.restart(2)
        abandoned = client.create_ledger(3, 3, 3)
        append(abandoned, payloads(100))
        bookie.kill()
        shutil.rmtree(disks[wiped])
        cluster.restart(2)
        assert poll(lambda: is_whole(bookie)), bookie.log_end()
        assert [lacks(client, bookie, each) for each in [*ledgers, int(abandoned.ledger_id)]] == [[]] * 4
        bookie.kill()
        cluster.restart(2)
        assert "checking the entries" not in bookie.log


@pytest.mark.full
def test_a_bookie_that_has_lost_one_of_two_ledger_directories_copies_what_was_in_it(tmp_path: Path) -> None:
    """The indexes name logs in it that are gone, which the check of the start would take for damage."""
    apart = ["--journal-dir", str(tmp_path / "j"), "--index-dir", str(tmp_path / "x"), "--data"]
    first, second = tmp_path / "a", tmp_path / "b"
    settings = SETTINGS | {"skipListSizeLimit": 1 << 17, "logSizeLimit": 1 << 17}
    settings["localConsistencyCheckOnStartup"] = "true"
    with LocalCluster(tmp_path, 2, settings=settings) as cluster, OurClient(cluster.metadata_uri) as client:
        bookie = cluster.bookies[cluster.add_bookie(options=[*apart, f"{first},{second}"])]
        ledgers = [append_and_close(client.create_ledger(3, 3, 3), payloads(400, 1000)) for _ in range(3)]
        cluster.stop_bookie(2)
        assert all(list((each / "current").glob("*.log")) for each in (first, second))
        shutil.rmtree(second)
        cluster.restart(2)
        assert poll(lambda: is_whole(bookie)), bookie.log_end()
        assert [lacks(client, bookie, each) for each in ledgers] == [[]] * 3


@pytest.mark.full
def test_without_leave_to_write_cookies_it_refuses_to_start_and_says_what_to_set(tmp_path: Path) -> None:
    settings = {"dataIntegrityChecking": "true"}
    with LocalCluster(tmp_path, 1, settings=settings) as cluster:
        wipe(cluster.bookies[0])
        with pytest.raises(BookieFailed, match=r"set dataIntegrityStampMissingCookies=true, and this bookie .* copies"):
            cluster.restart(0)


@pytest.mark.full
def test_a_directory_that_is_not_checked_to_its_end_is_served_by_no_bookie_that_does_not_check(tmp_path: Path) -> None:
    with LocalCluster(tmp_path, 2, settings=SETTINGS | {"flushInterval": 100}) as cluster:
        with OurClient(cluster.metadata_uri) as client:
            append_and_close(client.create_ledger(2, 2, 2), payloads(10))
        wipe(cluster.bookies[0])
        cluster.kill(1)
        cluster.restart(0)
        cluster.stop_bookie(0)
        unchecked = LocalBookie(cluster.bookies[0].directory, cluster.metadata_uri, {}, ())
        unchecked.port = cluster.bookies[0].port
        unchecked.launch()
        with pytest.raises(BookieFailed, match="start the bookie with dataIntegrityChecking=true"):
            unchecked.wait_until_ready()


@pytest.mark.full
@pytest.mark.crash
def test_killed_again_and_again_it_goes_on_and_never_says_that_an_entry_is_missing(tmp_path: Path) -> None:
    pytest.importorskip("rocksdict")
    slow = {"replicationRateByBytes": 40_000, "ledgerStorageClass": "DbLedgerStorage"}
    with LocalCluster(tmp_path, 3, settings=SETTINGS | slow) as cluster, OurClient(cluster.metadata_uri) as client:
        ledgers = [append_and_close(client.create_ledger(3, 2, 2), payloads(400)) for _ in range(6)]
        ledgers.append(append_and_close(client.create_ledger(3, 3, 2), payloads(400)))
        bookie = cluster.bookies[0]
        wipe(bookie)
        counts, whole = [], False
        for at_ms in (0, 300, 700, 1100):
            cluster.restart(0)
            time.sleep(at_ms / 1000)
            counts.append(_present(client, bookie, ledgers))
            whole = whole or is_whole(bookie)  # where the machine is slow, which the copying is not
            bookie.kill()
        cluster.restart(0)
        assert whole or poll(lambda: is_whole(bookie), timeout_s=120), bookie.log_end()
        total = sum(len(list(own_entries(client.metadata(each), bookie, 399))) for each in ledgers)
        assert counts[0] < total
        assert [lacks(client, bookie, each) for each in ledgers] == [[]] * len(ledgers)


def _present(client: OurClient, bookie: LocalBookie, ledgers: list[int]) -> int:
    count = 0
    with AddingChannel("127.0.0.1", bookie.port) as channel:
        for ledger_id in ledgers:
            for entry_id in own_entries(client.metadata(ledger_id), bookie, 399):
                try:
                    channel.read_entry(ledger_id, entry_id)
                except NoSuchEntry:
                    pytest.fail(f"entry {entry_id} of ledger {ledger_id} is missing, says the bookie")
                except BookKeeperError:
                    pass
                else:
                    count += 1
    return count


@pytest.mark.full
def test_of_two_directories_with_databases_the_one_that_was_wiped_is_filled_again(tmp_path: Path) -> None:
    pytest.importorskip("rocksdict")
    settings = SETTINGS | {"ledgerStorageClass": "DbLedgerStorage"}
    data = [tmp_path / name for name in ("first", "second")]
    options = ["--journal-dir", str(tmp_path / "journal"), "--data", ",".join(map(str, data))]
    with LocalCluster(tmp_path, 2, settings=settings) as cluster, OurClient(cluster.metadata_uri) as client:
        cluster.add_bookie(options=options)
        ledgers = [append_and_close(client.create_ledger(3, 3, 2), payloads(300)) for _ in range(4)]
        bookie = cluster.bookies[2]
        bookie.kill()
        shutil.rmtree(data[1])
        cluster.restart(2)
        assert poll(lambda: is_whole(bookie)), bookie.log_end()
        assert [lacks(client, bookie, each) for each in ledgers] == [[]] * 4
        assert all(any((each / "current").glob("*.log")) for each in data)
