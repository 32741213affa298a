"""A bookie whose disk is full, or fails to sync: no acknowledged entry is lost."""

import errno
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from twisted.internet import reactor

from bookkeeper_tx.bookie.disk import Buffer, Disk, File
from bookkeeper_tx.bookie.operations.brake import Brake
from bookkeeper_tx.bookie.service import BookieService
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import BookieUnavailable, LedgerFenced, NoSuchEntry, ReadOnlyBookie, StorageFailed
from bookkeeper_tx.metadata.store import open_metadata_store
from bookkeeper_tx.model import DigestType
from protocol_specs.fields import LAST_ENTRY
from protocol_specs.wire.operations import Flag
from tests.integration.support.adding_channel import AddingChannel
from tests.reactor_thread import run_in_reactor

DIGEST = EntryDigest(DigestType.CRC32C, b"")
KEY = DIGEST.master_key
WAIT_S = 20.0


class FaultyFile(File):
    """A file that fails as its disk says."""

    def __init__(self, file: File, disk: "FaultyDisk") -> None:
        super().__init__(file.path, file._descriptor)
        self._disk = disk

    def write(self, data: Buffer, offset: int) -> None:
        if self._disk.full(self.path):
            raise OSError(errno.ENOSPC, "no space left on device", self.path)
        super().write(data, offset)

    def write_many(self, buffers: Sequence[Buffer], offset: int) -> None:
        self.write(b"".join(buffers), offset)

    def sync(self) -> None:
        if self._disk.sync_fails(self.path):
            raise OSError(errno.EIO, "input/output error", self.path)
        super().sync()


class FaultyDisk(Disk):
    """A real disk; for paths that ``full`` selects it has no space, for those of ``sync_fails`` it cannot sync."""

    def __init__(self) -> None:
        self.full: Callable[[str], bool] = lambda path: False
        self.sync_fails: Callable[[str], bool] = lambda path: False

    def create(self, path: str) -> File:
        return FaultyFile(super().create(path), self)

    def open(self, path: str, writable: bool = False) -> File:
        return FaultyFile(super().open(path, writable), self)


class Reactor:
    """The session's reactor, which a failing bookie may not stop."""

    def __init__(self) -> None:
        self.stopped = False

    def stop(self) -> None:
        self.stopped = True

    def __getattr__(self, name: str) -> Any:
        return getattr(reactor, name)


class RunningBookie:
    """A bookie in this process, on a disk with faults."""

    def __init__(self, directory: Path, **settings: Any) -> None:
        self.disk, self.reactor, self.said = FaultyDisk(), Reactor(), list[str]()
        self.metadata_uri = f"sqlite://{directory}/m.db"
        data = str(directory / "data")
        self.config = BookieConfig(
            metadata_uri=self.metadata_uri, journal_directory=data, ledger_directory=data, port=0, **settings
        )
        self.service = self._service()

    def _service(self) -> BookieService:
        return BookieService(self.config, self.reactor, self.disk, tell=self.said.append, tell_error=self.said.append)

    def start(self) -> "RunningBookie":
        async def start() -> None:
            self.service.startService()
            assert self.service._starting is not None
            await self.service._starting

        run_in_reactor(start)
        assert self.service.address is not None, self.said
        return self

    def stop(self) -> None:
        async def stop() -> None:
            await self.service.stopService()

        run_in_reactor(stop)

    def restart(self) -> None:
        self.service = self._service()
        self.start()

    @property
    def channel(self) -> AddingChannel:
        assert self.service.address is not None
        return AddingChannel("127.0.0.1", self.service.address.port)

    def registered_writable(self) -> bool:
        async def ask() -> bool:
            store = open_metadata_store(self.metadata_uri, reactor)
            await store.start()
            try:
                return bool(await store.writable_bookies())
            finally:
                await store.stop()

        return run_in_reactor(ask)


def entry(entry_id: int, size: int = 1000) -> bytes:
    return DIGEST.seal(1, entry_id, entry_id - 1, size, entry_id.to_bytes(8, "big") * (size // 8))


def add(channel: AddingChannel, first: int, count: int) -> None:
    channel.add_entries(1, first, [entry(first + i) for i in range(count)], KEY)


def assert_stored(channel: AddingChannel, count: int) -> None:
    expected: list[Any] = [entry(i) for i in range(count)]
    assert list(channel.read_range(1, 0, count - 1)) == expected


def add_until_read_only(channel: AddingChannel) -> int:
    """Add entries until they are refused; return how many were not."""
    for stored in range(0, 10_000, 10):
        try:
            add(channel, stored, 10)
        except ReadOnlyBookie:
            return stored
    raise AssertionError("never refused")


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.05)


def test_a_full_journal_disk_makes_the_bookie_read_only_while_it_lasts(tmp_path: Path) -> None:
    bookie = RunningBookie(tmp_path, disk_check_interval_s=0.2).start()
    channel = bookie.channel
    add(channel, 0, 10)
    bookie.disk.full = lambda path: path.endswith(".txn")
    with pytest.raises(StorageFailed):
        add(channel, 10, 5)
    with pytest.raises(ReadOnlyBookie):
        add(channel, 10, 5)
    wait_until(lambda: not bookie.registered_writable())
    with pytest.raises(StorageFailed):
        channel.read_entry(1, 0, Flag.FENCING, KEY)
    assert_stored(channel, 10)
    bookie.disk.full = lambda path: False
    wait_until(bookie.registered_writable)
    with pytest.raises(LedgerFenced):
        add(channel, 10, 5)
    channel.add_entries(1, 10, [entry(10 + i) for i in range(5)], KEY, Flag.RECOVERY_ADD)
    bookie.stop()
    bookie.restart()
    assert_stored(bookie.channel, 15)
    bookie.stop()
    assert not bookie.service.failed


def test_a_full_ledger_disk_makes_the_bookie_read_only_while_it_lasts(tmp_path: Path) -> None:
    bookie = RunningBookie(tmp_path, write_cache_bytes_max=100_000, flush_interval_s=0.2).start()
    channel = bookie.channel
    bookie.disk.full = lambda path: not path.endswith(".txn")
    stored = add_until_read_only(channel)
    assert_stored(channel, stored)
    wait_until(lambda: not bookie.registered_writable())
    bookie.disk.full = lambda path: False
    wait_until(bookie.registered_writable)
    add(channel, stored, 10)
    assert_stored(channel, stored + 10)
    bookie.stop()
    bookie.restart()
    assert_stored(bookie.channel, stored + 10)
    bookie.stop()


def test_while_a_flush_takes_long_only_adds_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bookie = RunningBookie(tmp_path, write_cache_bytes_max=100_000).start()
    flushed, held = threading.Event(), threading.Event()
    hold = Brake.hold
    monkeypatch.setattr(Brake, "hold", lambda *request: (held.set(), hold(*request)))
    bookie.disk.sync_fails = lambda path: path.endswith((".log", ".idx")) and not flushed.wait(WAIT_S)
    with bookie.channel as reader, bookie.channel as writer:
        add(reader, 0, 10)
        adding = threading.Thread(target=lambda: [add(writer, first, 20) for first in range(10, 410, 20)])
        adding.start()
        assert held.wait(WAIT_S), "the write cache was never full"
        assert reader.read_entry(1, 5) == entry(5)
        with pytest.raises(NoSuchEntry):
            reader.read_entry(2, LAST_ENTRY, Flag.FENCING, KEY)
        assert adding.is_alive()
        flushed.set()
        adding.join(WAIT_S)
        assert_stored(reader, 410)
    bookie.stop()


def test_a_journal_that_the_disk_does_not_confirm_stops_the_bookie_unacknowledged(tmp_path: Path) -> None:
    bookie = RunningBookie(tmp_path).start()
    channel = bookie.channel
    add(channel, 0, 10)
    bookie.disk.sync_fails = lambda path: path.endswith(".txn")
    with pytest.raises((StorageFailed, BookieUnavailable)):
        add(channel, 10, 5)
    wait_until(lambda: bookie.reactor.stopped)
    assert bookie.service.failed
    assert ".txn" in bookie.said[-1]
    bookie.disk.sync_fails = lambda path: False
    bookie.stop()
    bookie.restart()
    assert_stored(bookie.channel, 10)
    bookie.stop()


def test_a_stop_while_starting_gives_everything_back(tmp_path: Path) -> None:
    bookie = RunningBookie(tmp_path)

    async def start_and_stop() -> None:
        bookie.service.startService()
        await bookie.service.stopService()

    run_in_reactor(start_and_stop)
    assert bookie.service.address is None
    bookie.restart()
    bookie.stop()
    assert [line for line in bookie.said if not line.startswith("bookie 127")] == []


def test_a_bookie_whose_directory_is_lost_answers_with_errors_and_ends(tmp_path: Path) -> None:
    bookie = RunningBookie(tmp_path, disk_check_interval_s=0.5, flush_interval_s=0.1).start()
    channel = bookie.channel
    add(channel, 0, 10)
    current = tmp_path / "data" / "current"
    wait_until(lambda: (current / "lastMark").exists())
    current.rename(tmp_path / "away")
    wait_until(lambda: bookie.reactor.stopped)
    assert bookie.service.failed
    assert "current has lost the files of this bookie" in bookie.said[-1]
    bookie.stop()
    assert not current.exists()
    (tmp_path / "away").rename(current)
    bookie.restart()
    assert_stored(bookie.channel, 10)
    bookie.stop()


def test_what_an_unmount_uncovers_gets_no_journal_file(tmp_path: Path) -> None:
    bookie = RunningBookie(tmp_path, disk_check_interval_s=60.0, journal_size_bytes_max=1).start()
    add(bookie.channel, 0, 10)
    current = tmp_path / "data" / "current"
    current.rename(tmp_path / "away")
    current.mkdir()
    with pytest.raises(StorageFailed):
        add(bookie.channel, 10, 5)
    assert list(current.iterdir()) == []
    current.rmdir()
    (tmp_path / "away").rename(current)
    bookie.stop()
    bookie.restart()
    assert_stored(bookie.channel, 10)
    bookie.stop()


def test_a_bookie_starts_on_a_full_disk_and_serves_reads(tmp_path: Path) -> None:
    bookie = RunningBookie(tmp_path, disk_check_interval_s=0.2).start()
    add(bookie.channel, 0, 10)
    bookie.stop()
    bookie.disk.full = lambda path: True
    bookie.restart()
    assert_stored(bookie.channel, 10)
    with pytest.raises(ReadOnlyBookie):
        add(bookie.channel, 10, 5)
    assert not bookie.registered_writable()
    bookie.disk.full = lambda path: False
    wait_until(bookie.registered_writable)
    add(bookie.channel, 10, 5)
    assert_stored(bookie.channel, 15)
    bookie.stop()
