"""The client whose calls wait, as its guide shows it, on real bookies."""

import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.blocking import BookKeeper
from bookkeeper_tx.errors import BookKeeperError, ClientClosed, InvalidConfig, LedgerFenced
from bookkeeper_tx.testing.local_cluster import LocalCluster

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "blocking.md"
TIMEOUT_S = 30


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster(tmp_path_factory.mktemp("bookies"), bookie_count=2) as cluster:
        yield cluster


@pytest.fixture
def bk(cluster: LocalCluster) -> Iterator[BookKeeper]:
    with BookKeeper(cluster.metadata_uri) as bk:
        yield bk


def test_the_program_of_the_guide(cluster: LocalCluster, capsys: pytest.CaptureFixture[str]) -> None:
    [program] = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"__name__": "guide"}
    exec(compile(program, str(GUIDE), "exec"), names)
    assert names["main"](cluster.metadata_uri) == (0, 100, 100, 50, [0, 1, 2], 10_101)
    assert "wrong password" in capsys.readouterr().out


def test_threads_share_a_writer_while_another_tails(bk: BookKeeper) -> None:
    writer = bk.create_ledger(2, 2, 2)
    tailed: list[bytes] = []
    reader = bk.open_ledger_no_recovery(writer.ledger_id)
    tailing = threading.Thread(target=lambda: tailed.extend(entry.payload for entry in reader.tail()))
    tailing.start()
    writers = [
        threading.Thread(target=lambda name=name: [writer.append(b"%s %d" % (name, each)) for each in range(20)])
        for name in (b"a", b"b", b"c")
    ]
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join(TIMEOUT_S)
    writer.close()
    tailing.join(TIMEOUT_S)
    assert sorted(tailed) == sorted(b"%s %d" % (name, each) for name in (b"a", b"b", b"c") for each in range(20))
    assert [each for each in tailed if each.startswith(b"a")] == [b"a %d" % each for each in range(20)]


def test_an_iterable_is_stored_up_to_what_it_raises(bk: BookKeeper) -> None:
    def payloads() -> Iterator[bytes]:
        for number in range(2500):
            yield b"%d" % number
        raise OSError("the source is gone")

    with bk.create_ledger(1, 1, 1) as writer:
        assert writer.append_many([]) == writer.append_many(iter(())) == range(0)
        with pytest.raises(OSError, match="the source is gone"):
            writer.append_many(payloads())
        assert writer.append_many(b"x" for _ in range(10)) == range(2500, 2510)
    assert [entry.payload for entry in bk.open_ledger(writer.ledger_id)][2498:2501] == [b"2498", b"2499", b"x"]


def test_an_interrupt_gives_up_the_call_and_not_the_client(bk: BookKeeper) -> None:
    writer = bk.create_ledger(1, 1, 1)
    writer.append(b"x")
    reader = bk.open_ledger_no_recovery(writer.ledger_id)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            reader.wait_last_add_confirmed(99, timeout_s=TIMEOUT_S)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert writer.append(b"y") == 1
    assert reader.read_unconfirmed(0, 1).payloads == [b"x", b"y"]


def test_errors_are_those_of_every_client(cluster: LocalCluster, bk: BookKeeper) -> None:
    writer = bk.create_ledger(1, 1, 1)
    writer.append(b"kept")
    with bk.open_ledger(writer.ledger_id) as reader:
        assert (reader.closed, reader.last_add_confirmed, reader.length) == (True, 0, 4)
    with pytest.raises(LedgerFenced):
        writer.append(b"late")
    failed = writer.append_later(b"later")
    assert isinstance(failed.exception(TIMEOUT_S), BookKeeperError)
    with pytest.raises(InvalidConfig):
        BookKeeper("mongodb://nowhere").start()
    closed = BookKeeper(cluster.metadata_uri)
    closed.close()
    closed.close()
    with pytest.raises(ClientClosed):
        closed.create_ledger()
    assert writer.ledger_id in bk.list_ledgers()
    assert bk.writable_bookies() >= set(bk.ledger_metadata(writer.ledger_id).last_fragment.ensemble)
    bk.delete_ledger(writer.ledger_id)
    assert writer.ledger_id not in bk.list_ledgers()
