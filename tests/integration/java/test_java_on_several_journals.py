"""With two journals, too, a Java bookie takes over the directories of a killed bookie of ours, and ours those of it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bookkeeper_tx.errors import LedgerFenced
from bookkeeper_tx.testing.local_cluster import LocalBookie
from compat_tests.targets.payloads import patterns
from compat_tests.targets.ports import choose_port
from tests.integration.java.test_java_on_our_directories import SETTINGS, start
from tests.integration.support import raw_requests
from tests.integration.support.our_client import OurClient, append, read

pytestmark = pytest.mark.java

PAYLOADS = patterns(100, 1000, seed=1)
LEDGERS = 4
"""Of even and odd ids."""


def journals(directory: Path) -> str:
    return f"{directory / 'journal1'},{directory / 'journal2'}"


@pytest.fixture
def our_bookie() -> Iterator[Callable[..., LocalBookie]]:
    bookies = []

    def make(directory: Path, uri: str, port: int = 0) -> LocalBookie:
        bookie = LocalBookie(directory, uri, SETTINGS, ["--journal-dir", journals(directory)])
        bookie.port = port or choose_port()
        bookies.append(bookie)
        return bookie

    yield make
    for bookie in bookies:
        bookie.kill()


def settings(directory: Path) -> dict[str, object]:
    """Those of a Java bookie in the same place."""
    return SETTINGS | {"journalDirectories": journals(directory)}


def write(ours: OurClient, count: int = LEDGERS) -> list[int]:
    """Write ledgers that stay in the journals."""
    ledger_ids = []
    for _ in range(count):
        writer = ours.create_ledger()
        append(writer, PAYLOADS)
        ledger_ids.append(writer.ledger_id)
    assert {ledger_id % 2 for ledger_id in ledger_ids} == {0, 1}
    return ledger_ids


def check(ours: OurClient, ledger_ids: list[int]) -> None:
    for ledger_id in ledger_ids:
        reader = ours.open_ledger(ledger_id)
        assert read(reader, 0, reader.last_add_confirmed) == PAYLOADS


def check_fences(port: int, ledger_ids: list[int]) -> None:
    for ledger_id in ledger_ids:
        with pytest.raises(LedgerFenced):
            raw_requests.add(port, ledger_id, 10_000, [b"too late"])


@pytest.mark.full
def test_java_serves_what_ours_acknowledged_and_ours_again(java_release, cluster, java_bookie, our_bookie, tmp_path):
    bookie = our_bookie(tmp_path, cluster.uri)
    start(bookie)
    with OurClient(cluster.uri) as ours:
        stored, fenced = write(ours), write(ours, 2)
        for ledger_id in fenced:
            assert raw_requests.fence(bookie.port, ledger_id) is None
        bookie.kill()
        cluster.unregister(bookie.bookie_id)

        java = java_bookie(java_release, port=bookie.port, ledger_dir=tmp_path / "data", settings=settings(tmp_path))
        check(ours, stored)
        check_fences(bookie.port, fenced)
        more = write(ours)
        java.kill(expire=True)
        start(bookie)
        check(ours, stored + more)
        check_fences(bookie.port, fenced)
    assert bookie.stop() == 0


@pytest.mark.full
@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_ours_serves_what_java_acknowledged(java_release, cluster, java_bookie, our_bookie, tmp_path, how):
    java = java_bookie(java_release, ledger_dir=tmp_path / "data", settings=settings(tmp_path))
    bookie = our_bookie(tmp_path, cluster.uri, java.port)
    with OurClient(cluster.uri) as ours:
        stored, fenced = write(ours), write(ours, 2)
        for ledger_id in fenced:
            assert raw_requests.fence(java.port, ledger_id) is None
        more = write(ours)  # behind the fences, or an orderly stop of Java would lose them
        if how == "killed":
            java.kill(expire=True)
        else:
            java.stop()
        start(bookie)
        assert sorted(path.name for path in (tmp_path / "data" / "current").glob("lastMark*")) == [
            "lastMark.0",
            "lastMark.1",
        ]
        check_fences(bookie.port, fenced)
        check(ours, stored + more)
    assert bookie.stop() == 0
