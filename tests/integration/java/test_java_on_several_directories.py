"""With several ledger and index directories, too, a Java bookie takes over those of ours, and ours those of it."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bookkeeper_tx.testing.local_cluster import BookieFailed, LocalBookie
from compat_tests.targets.payloads import patterns
from compat_tests.targets.ports import choose_port
from tests.integration.java.test_java_on_our_directories import COLLECTING, SETTINGS, start
from tests.integration.support import raw_requests
from tests.integration.support.our_client import OurClient, append, read, wait_for

pytestmark = pytest.mark.java

PAYLOADS = patterns(700, 1000, seed=1)
"""Some ledgers of them fill some logs of 1 MiB."""
LEDGERS = 8
NAMES = ("data1", "data2", "data3")
INDEX_NAMES = ("index1", "index2")
NAME_NO_INDEXES = ("4.9.2", "4.14.7")
"""Releases that refuse a cookie which names index directories, as ours does; theirs name none."""


def listed(directory: Path, names: tuple[str, ...]) -> str:
    return ",".join(str(directory / name) for name in names)


@pytest.fixture
def our_bookie() -> Iterator[Callable[..., LocalBookie]]:
    bookies = []

    def make(
        directory: Path,
        uri: str,
        port: int = 0,
        names: tuple[str, ...] = NAMES,
        index_names: tuple[str, ...] = INDEX_NAMES,
        **more: object,
    ) -> LocalBookie:
        options = ["--journal-dir", str(directory / "journal"), "--data", listed(directory, names)]
        if index_names:
            options += ["--index-dir", listed(directory, index_names)]
        bookie = LocalBookie(directory, uri, COLLECTING | more, options)
        bookie.port = port or choose_port()
        bookies.append(bookie)
        return bookie

    yield make
    for bookie in bookies:
        bookie.kill()


def settings(directory: Path, index_names: tuple[str, ...] = INDEX_NAMES) -> dict[str, object]:
    """Those of a Java bookie in the same place."""
    indexes = {"indexDirectories": listed(directory, index_names)} if index_names else {}
    return SETTINGS | {"ledgerDirectories": listed(directory, NAMES)} | indexes


def write(ours: OurClient, count: int = LEDGERS) -> list[int]:
    ledger_ids = []
    for _ in range(count):
        writer = ours.create_ledger()
        append(writer, PAYLOADS)
        ledger_ids.append(writer.ledger_id)
    return ledger_ids


def check(ours: OurClient, ledger_ids: list[int]) -> None:
    for ledger_id in ledger_ids:
        reader = ours.open_ledger(ledger_id)
        assert read(reader, 0, reader.last_add_confirmed) == PAYLOADS


def eventually(happens: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not happens():
        assert time.monotonic() < deadline, "it has not happened in a minute"
        time.sleep(0.05)


def used(directory: Path, names: tuple[str, ...], pattern: str) -> set[str]:
    """Return which of the directories have such files."""
    return {name for name in names if any((directory / name / "current").rglob(pattern))}


@pytest.mark.full
def test_java_serves_what_ours_acknowledged_and_ours_again(java_release, cluster, java_bookie, our_bookie, tmp_path):
    index_names = () if java_release in NAME_NO_INDEXES else INDEX_NAMES
    bookie = our_bookie(tmp_path, cluster.uri, index_names=index_names)
    start(bookie)
    with OurClient(cluster.uri) as ours:
        stored, fenced = write(ours), write(ours, 1)
        assert raw_requests.fence(bookie.port, fenced[0]) is None
        for _ in range(50):  # they are picked at random
            if used(tmp_path, NAMES, "*.log") != set(NAMES):
                stored += write(ours, 1)
        bookie.kill()
        assert used(tmp_path, NAMES, "*.log") == set(NAMES)
        assert len(used(tmp_path, index_names or NAMES, "*.idx")) > 1, "they are picked at random"
        cluster.unregister(bookie.bookie_id)

        java = java_bookie(
            java_release,
            port=bookie.port,
            journal_dir=tmp_path / "journal",
            ledger_dir=tmp_path / "data1",
            settings=settings(tmp_path, index_names),
        )
        check(ours, stored)
        more = write(ours)
        java.kill(expire=True)
        start(bookie)
        check(ours, stored + more)
        gone = {f"{ledger_id:x}.idx" for ledger_id in stored[1:]}
        for ledger_id in stored[1:]:
            wait_for(ours.bookkeeper.delete_ledger, ledger_id)
        eventually(lambda: gone.isdisjoint(path.name for path in tmp_path.rglob("*.idx")))
        check(ours, [stored[0], *more])
    assert bookie.stop() == 0


@pytest.mark.full
@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_ours_serves_what_java_acknowledged(java_release, cluster, java_bookie, our_bookie, tmp_path, how):
    java = java_bookie(
        java_release, journal_dir=tmp_path / "journal", ledger_dir=tmp_path / "data1", settings=settings(tmp_path)
    )
    bookie = our_bookie(tmp_path, cluster.uri, java.port)
    with OurClient(cluster.uri) as ours:
        stored = write(ours)
        if how == "killed":
            java.kill(expire=True)
        else:
            java.stop()
        with pytest.raises(BookieFailed, match="ledger directories"):
            start(our_bookie(tmp_path, cluster.uri, java.port, NAMES[:2]))
        start(bookie)
        check(ours, stored)
        more = write(ours)
        assert bookie.stop() == 0
        wider = our_bookie(tmp_path, cluster.uri, java.port, (*NAMES, "data4"), allowStorageExpansion="true")
        if java_release in NAME_NO_INDEXES:
            with pytest.raises(BookieFailed, match="index directories"):
                start(wider)
            return
        start(wider)
        check(ours, stored + more)
    assert wider.stop() == 0
