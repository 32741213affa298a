"""bookkeeper_tx.bookie.service: which threads a bookie has, what runs on them, and what its start finds out."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import fail
from twisted.internet.error import ConnectionDone
from twisted.internet.testing import MemoryReactorClock, StringTransport
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.journal.journal import Journal
from bookkeeper_tx.bookie.journal.last_mark import LogMark, read_last_mark, write_last_mark
from bookkeeper_tx.bookie.listening import Address
from bookkeeper_tx.bookie.service import BookieService
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import MetadataUnavailable
from bookkeeper_tx.model import DigestType, Fragment, LedgerMetadata
from protocol_specs.disk.journal import HEADER_SIZE
from tests.bookie.http.asked import ADDRESS, reply_in
from tests.bookie.metrics.measured_bookie import samples_in
from tests.bookie.seams import KEY, run_of
from tests.bookie.storage.storages import add, flush, new_storage
from tests.bookie.workers import InlineWorker, SteppedWorker
from tests.conftest import result_of
from tests.metadata.zookeeper.zookeeper_world import World

COOKIE = "data/current/VERSION"
COMPACTION = "/api/v1/bookie/entry_location_compact"

METADATA_HERE = LedgerMetadata(1, 1, 1, [Fragment(0, ("127.0.0.1:3181",))], DigestType.CRC32C, b"pw")


class Reactor(MemoryReactorClock):
    """A reactor that runs, and takes the socket of the bookie."""

    running = True

    def callWhenRunning(self, function: Any, *args: Any) -> None:
        function(*args)

    def adoptStreamPort(self, *args: Any) -> Any:
        return self.listenTCP(3181, None)


class _Listening:
    family = 0

    def listen(self, backlog: int) -> None: ...

    def close(self) -> None: ...

    def fileno(self) -> int:
        return -1


class Threads(SteppedWorker):
    """Threads of a bookie: what they do is done when the test says so, or at once."""

    def __init__(self, at_once: bool) -> None:
        super().__init__()
        self.at_once = at_once

    def run(self, function: Any, *args: Any) -> Any:
        done = super().run(function, *args)
        if self.at_once:
            self.run_all()
        return done

    @property
    def waiting_count(self) -> int:
        return len(self.jobs)


class NotedDisk(Disk):
    """A disk that notes which files were read at once."""

    def __init__(self) -> None:
        self.read_paths: list[str] = []

    def read(self, path: str) -> bytes:
        self.read_paths.append(path)
        return super().read(path)


class Serving:
    """A bookie that serves, in directories of its own, with HTTP."""

    def __init__(self, directory: Path, store: Any = None, serves: bool = True, **settings: Any) -> None:
        self.reactor: Any = Reactor()
        self.threads: dict[str, Threads] = {}
        data = str(directory / "data")
        config = BookieConfig(
            metadata_uri="", journal_directory=data, ledger_directory=data, http_server_enabled=True, **settings
        )
        listening: Any = _Listening()
        self.said: list[str] = []
        self.disk = NotedDisk()
        self.connections: list[Any] = []
        self.service = BookieService(
            config,
            self.reactor,
            self.disk,
            tell=self.said.append,
            tell_error=self.said.append,
            store=store or World().open()[0],
            bind=lambda *_: Address(listening, "127.0.0.1", 3181, "127.0.0.1:3181"),
            make_threads=self._make_threads,
        )
        self.service.startService()
        assert (self.said == ["bookie 127.0.0.1:3181 listening on 127.0.0.1:3181"]) == serves

    def _make_threads(self, reactor: Any, name: str, count: int) -> Any:
        self.threads[name] = Threads(at_once=True)
        return self.threads[name]

    def ask(self, request: str, body: str = "") -> StringTransport:
        """Send a request and return what the answer comes to."""
        transport = StringTransport()
        protocol = self.reactor.tcpServers[0][1].buildProtocol(ADDRESS)
        protocol.makeConnection(transport)
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        protocol.dataReceived(f"{request} HTTP/1.1\r\nHost: localhost\r\n{length}\r\n{body}".encode())
        self.connections.append(protocol)
        return transport

    def stop(self) -> None:
        for protocol in self.connections:
            protocol.connectionLost(Failure(ConnectionDone()))
        result_of(self.service.stopService())


@pytest.fixture
def serving(tmp_path: Path) -> Any:
    serving = Serving(tmp_path, more_journal_directories=(str(tmp_path / "second"),))
    yield serving
    serving.stop()


def test_cookies_are_compared_and_written_on_the_thread_of_http(serving: Serving, tmp_path: Path) -> None:
    threads = serving.threads["http"]
    threads.at_once = False
    serving.disk.read_paths.clear()
    answer = serving.ask("PUT /api/v1/bookie/expand_storage")
    assert (answer.value(), serving.disk.read_paths) == (b"", [])
    threads.run_all()
    assert reply_in(answer.value()).status == 200
    assert str(tmp_path / COOKIE) in serving.disk.read_paths


def test_the_queue_of_each_thread_is_told(serving: Serving) -> None:
    serving.threads["http"].at_once = False
    serving.threads["http"].run(list)
    samples = samples_in(reply_in(serving.ask("GET /metrics").value()).text)
    queues = {
        dict(labels)["thread"]: value
        for (name, labels), value in samples.items()
        if name == "bookkeeper_server_thread_executor_queue"
    }
    assert queues == {"journal": 0, "journal-1": 0, "flush": 0, "read": 0, "garbage": 0, "http": 1}


def test_a_compaction_of_locations_has_a_thread_of_its_own(tmp_path: Path) -> None:
    pytest.importorskip("rocksdict")
    serving = Serving(tmp_path, ledger_storage_class="DbLedgerStorage")
    path = f"{tmp_path}/data/current/locations"
    thread = serving.threads["location-compaction"]
    thread.at_once = False
    request = f"PUT {COMPACTION}", '{"entryLocationRocksDBCompact": true}'
    assert reply_in(serving.ask(*request).value()).status == 200
    assert reply_in(serving.ask(f"GET {COMPACTION}").value()).json == {path: True}
    thread.run_all()
    assert reply_in(serving.ask(f"GET {COMPACTION}").value()).json == {path: False}
    assert reply_in(serving.ask(*request).value()).status == 200
    serving.stop()
    thread.run_all()


def test_a_scrubber_has_a_thread_of_its_own_and_metrics(tmp_path: Path) -> None:
    serving = Serving(tmp_path, local_scrub_interval_s=10.0)
    assert not serving.threads["scrub"].jobs
    serving.reactor.advance(15)
    serving.reactor.advance(15)
    samples = samples_in(reply_in(serving.ask("GET /metrics").value()).text)
    labels = frozenset({"success": "true"}.items())
    counts = {name: value for (name, of_each), value in samples.items() if frozenset(of_each) == labels}
    assert counts["scrubber_runTime_count"] >= 2
    serving.stop()
    assert not [each for each in serving.reactor.getDelayedCalls() if "Scrubber" in str(each)]


def test_without_an_interval_there_is_no_scrubber(serving: Serving) -> None:
    assert "scrub" not in serving.threads


def test_with_index_files_there_is_nothing_to_compact(serving: Serving) -> None:
    assert reply_in(serving.ask(f"GET {COMPACTION}").value()).json == {}
    assert "location-compaction" not in serving.threads


def test_lost_cookies_are_written_only_when_all_ledgers_are_marked(tmp_path: Path) -> None:
    checking = {"data_integrity_checking": True, "data_integrity_stamp_missing_cookies": True}
    world = World()
    Serving(tmp_path, world.open()[0], **checking).stop()
    cookie = tmp_path / COOKIE
    cookie.unlink()
    for away in (True, False):
        store, _ = world.unstarted()
        if away:
            store.list_ledgers = lambda *_: fail(MetadataUnavailable("away"))
        bookie = Serving(tmp_path, store, serves=not away, **checking)
        assert cookie.exists() == (not away)
        assert away == ("away" in bookie.said[0])
        bookie.stop()


def test_a_kill_that_has_lost_entries_is_known_when_data_are_checked_from_then_on(tmp_path: Path) -> None:
    world, note = World(), tmp_path / "data/current/DIRTY"
    killed = Serving(tmp_path, world.open()[0], journal_data_written=False)
    left = note.read_bytes()
    killed.stop()
    assert not note.exists()
    note.write_bytes(left)
    Serving(tmp_path, world.unstarted()[0], journal_data_written=False).stop()
    assert note.exists(), "nobody has looked what is lost"
    Serving(tmp_path, world.unstarted()[0], data_integrity_checking=True).stop()
    assert note.with_name("ledgersMarked").exists()
    assert not note.exists()


def left_without_index(directory: Path, world: World, **settings: Any) -> None:
    """Have a bookie with an entry log, of a ledger whose metadata name it, and with no index."""
    Serving(directory, world.open()[0], **settings).stop()
    disk, current = Disk(), str(directory / "data/current")
    with_entries = new_storage(disk, current, indexes=[str(directory)])
    with_entries.open_for(7, KEY)
    add(with_entries, run_of(0, 1000, ledger_id=7))
    flush(with_entries)
    result_of(with_entries.stop())
    (journal,) = (directory / "data/current").glob("*.txn")
    write_last_mark(disk, [current], LogMark(int(journal.stem, 16), HEADER_SIZE))
    store = world.unstarted()[0]
    result_of(store.start())
    result_of(store.create_ledger(7, METADATA_HERE))


@pytest.mark.parametrize("journal_data_written", [True, False])
def test_a_start_without_indexes_is_refused_unless_a_kill_can_have_left_entries_nobody_knows(
    tmp_path: Path, journal_data_written: bool
) -> None:
    world, settings = World(), {"journal_data_written": journal_data_written}
    left_without_index(tmp_path, world, **settings)
    note, noted = tmp_path / "data/current/DIRTY", []
    for _ in range(2):
        store, _ = world.unstarted()
        read_ledger = store.read_latest_ledger
        store.read_latest_ledger = lambda ledger_id, of=read_ledger: (noted.append(note.exists()), of(ledger_id))[1]
        refused = Serving(tmp_path, store, serves=False, **settings)
        assert "no ledger has an index here, but" in refused.said[0]
        refused.stop()
    assert noted == [False, False], "a kill during the refused start would be taken for that of one that served"
    note.write_bytes(b"journalWriteData=false\n")
    Serving(tmp_path, world.unstarted()[0], serves=not journal_data_written, **settings).stop()


def test_a_start_with_a_ledger_in_the_journal_whose_index_is_away_is_refused(tmp_path: Path) -> None:
    world, current = World(), str(tmp_path / "data/current")
    Serving(tmp_path, world.open()[0]).stop()
    config = BookieConfig(metadata_uri="", journal_directory=current, ledger_directory=current)
    journal = Journal(Disk(), current, config, threads=InlineWorker(), on_fatal=pytest.fail)
    result_of(journal.start(read_last_mark(Disk(), [current])))
    run = run_of(0, 100, ledger_id=7)
    journal.append([run.records(0, 1)], lambda error: None)
    result_of(journal.stop())
    store = world.unstarted()[0]
    result_of(store.start())
    result_of(store.create_ledger(7, METADATA_HERE))
    refused = Serving(tmp_path, world.unstarted()[0], serves=False)
    assert "the journal has records of ledger 7, which has no index here" in refused.said[0]
    refused.stop()
    result_of(store.delete_ledger(7))
    Serving(tmp_path, world.unstarted()[0]).stop()


def test_where_all_ledgers_are_marked_a_start_needs_no_index(tmp_path: Path) -> None:
    world, indexes = World(), tmp_path / "indexes"
    settings = {"index_directories": (str(indexes),), "data_integrity_checking": True}
    left_without_index(tmp_path, world, **settings)
    refused = Serving(tmp_path, world.unstarted()[0], serves=False, **settings)
    assert "no ledger has an index here, but" in refused.said[0]
    refused.stop()
    shutil.rmtree(indexes)
    settings["data_integrity_stamp_missing_cookies"] = True
    marking = Serving(tmp_path, world.unstarted()[0], serves=False, **settings)
    marking.reactor.pump([0.1] * 10)
    assert "listening" in marking.said[0], "all ledgers are in limbo, durably"
    marking.stop()


def test_a_run_is_noted_over_the_note_of_a_java_bookie_that_was_killed(tmp_path: Path) -> None:
    world, note = World(), tmp_path / "data/current/DIRTY"
    Serving(tmp_path, world.open()[0], journal_data_written=False).stop()
    note.write_bytes(b"")
    Serving(tmp_path, world.unstarted()[0], journal_data_written=False).stop()
    Serving(tmp_path, world.unstarted()[0], data_integrity_checking=True).stop()
    assert note.with_name("ledgersMarked").exists()
