"""The client whose calls wait, as its guide shows it, on real bookies."""

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.blocking import BookKeeper
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import (
    BookKeeperError,
    ClientClosed,
    IllegalOperation,
    InvalidArgument,
    InvalidConfig,
    LedgerClosed,
    LedgerFenced,
    TooManyOutstandingAdds,
)
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


@pytest.fixture
def interrupted_soon() -> Iterator[Callable[[], None]]:
    """A function after whose call this thread is interrupted, as by Ctrl-C."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    yield lambda: signal.setitimer(signal.ITIMER_REAL, 0.2) and None
    signal.signal(signal.SIGALRM, before)


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


def test_a_batch_may_wait_for_the_last_add_confirmed(bk: BookKeeper) -> None:
    with bk.create_ledger(2, 2, 2) as writer:
        writer.append(b"first")
        with bk.open_ledger_no_recovery(writer.ledger_id) as reader:
            assert not reader.read_batch(0, previous_last_add_confirmed=-1, timeout_s=0.1)
            appending = threading.Timer(0.2, lambda: writer.append_many([b"second", b"third"]))
            appending.start()
            found = reader.read_batch(0, previous_last_add_confirmed=-1, timeout_s=TIMEOUT_S, allow_fast_fail=True)
            assert found.payloads[0] == b"first"
            appending.join()
            assert reader.read_batch_unconfirmed(0, 3, allow_fast_fail=True).payloads == [b"first", b"second", b"third"]


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


def test_a_payload_that_is_refused_ends_an_iterable_as_an_error_of_its_own_does(cluster: LocalCluster) -> None:
    with BookKeeper(cluster.metadata_uri, ClientConfig(outstanding_adds_max=100)) as bk:
        writer = bk.create_ledger(1, 1, 1)
        with pytest.raises(InvalidArgument, match="payload must be bytes"):
            writer.append_many(b"%d" % each if each != 1500 else "text" for each in range(6000))  # type: ignore[misc]
        assert writer.append_many(b"%d" % each for each in range(1500, 6000)) == range(1500, 6000)
        writer.close()
        assert [entry.payload for entry in bk.open_ledger(writer.ledger_id)] == [b"%d" % each for each in range(6000)]


def test_the_entries_of_an_iterable_follow_one_another_though_others_append(bk: BookKeeper) -> None:
    writer = bk.create_ledger(1, 1, 1)
    over = threading.Event()

    def append_on() -> None:
        while not over.is_set():
            writer.append(b"other")

    other = threading.Thread(target=append_on)
    other.start()
    ids = [writer.append_many(b"mine" for _ in range(5000)) for _ in range(3)]
    over.set()
    other.join(TIMEOUT_S)
    writer.close()
    payloads = [entry.payload for entry in bk.open_ledger(writer.ledger_id)]
    assert [set(payloads[each.start : each.stop]) for each in ids] == [{b"mine"}] * 3
    assert list(map(len, ids)) == [5000] * 3


def test_an_interrupt_ends_a_tail_and_not_its_reader(bk: BookKeeper, interrupted_soon: Callable[[], None]) -> None:
    writer = bk.create_ledger(1, 1, 1)
    reader = bk.open_ledger_no_recovery(writer.ledger_id)
    for _ in range(3):
        interrupted_soon()
        with pytest.raises(KeyboardInterrupt):
            list(reader.tail())
    writer.append(b"x")
    writer.close()
    assert [entry.payload for entry in reader.tail()] == [b"x"]


def test_threads_may_close_a_client_at_once(cluster: LocalCluster) -> None:
    bk = BookKeeper(cluster.metadata_uri)
    bk.start()
    errors: list[BaseException] = []

    def close() -> None:
        try:
            bk.close()
        except BaseException as error:
            errors.append(error)

    closers = [threading.Thread(target=close) for _ in range(4)]
    for closer in closers:
        closer.start()
    for closer in closers:
        closer.join(TIMEOUT_S)
    assert errors == []


def test_a_program_ends_though_it_has_closed_nothing(cluster: LocalCluster) -> None:
    program = f"""
from bookkeeper_tx.blocking import BookKeeper
bk = BookKeeper({cluster.metadata_uri!r})
bk.start()
writer = bk.create_ledger(1, 1, 1)
writer.append_many([b"x"] * 10)
writer.close()
entries = iter(bk.open_ledger(writer.ledger_id))
print(next(entries).payload)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert (done.stdout, done.returncode) == ("b'x'\n", 0)


def test_an_interrupt_gives_up_the_call_and_not_the_client(
    bk: BookKeeper, interrupted_soon: Callable[[], None]
) -> None:
    writer = bk.create_ledger(1, 1, 1)
    writer.append(b"x")
    reader = bk.open_ledger_no_recovery(writer.ledger_id)

    interrupted_soon()
    with pytest.raises(KeyboardInterrupt):
        reader.wait_last_add_confirmed(99, timeout_s=TIMEOUT_S)
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
        BookKeeper("mongodb://nowhere")
    closed = BookKeeper(cluster.metadata_uri)
    closed.close()
    closed.close()
    with pytest.raises(ClientClosed):
        closed.create_ledger()
    assert writer.ledger_id in bk.list_ledgers()
    assert bk.writable_bookies() >= set(bk.ledger_metadata(writer.ledger_id).last_fragment.ensemble)
    bk.delete_ledger(writer.ledger_id)
    assert writer.ledger_id not in bk.list_ledgers()


def test_an_iterable_that_appends_to_the_writer_that_reads_it_is_told_so(bk: BookKeeper) -> None:
    writer = bk.create_ledger(1, 1, 1)
    for append in (writer.append, writer.append_later, lambda _: writer.append_many([b""]), writer.append_many):
        raised: list[Exception] = []

        def appending(append: Any = append) -> Iterator[bytes]:
            yield b"before"
            append(iter([b"x"]) if append == writer.append_many else b"x")

        def work(payloads: Iterator[bytes], raised: Any = raised) -> None:
            try:
                writer.append_many(payloads)
            except IllegalOperation as error:
                raised.append(error)

        thread = threading.Thread(target=work, args=(appending(),), daemon=True)
        thread.start()
        thread.join(TIMEOUT_S / 10)
        assert len(raised) == 1
    assert writer.append(b"after") == 4, "the entries before the errors are stored"


def test_a_callback_that_appends_beside_an_iterable_is_told_so(bk: BookKeeper) -> None:
    writer, other = bk.create_ledger(1, 1, 1), bk.create_ledger(1, 1, 1)
    told = threading.Event()

    def append(_: Any) -> None:
        try:
            writer.append_later(b"x")
        except IllegalOperation:
            told.set()

    def payloads() -> Iterator[bytes]:
        yield b"0"
        other.append_later(b"y").add_done_callback(append)
        assert told.wait(TIMEOUT_S / 10)
        yield b"1"

    assert writer.append_many(payloads()) == range(2)


def test_appends_and_reads_in_flight_have_results_of_their_own(cluster: LocalCluster) -> None:
    with BookKeeper(cluster.metadata_uri, ClientConfig(outstanding_adds_max=100)) as bk:
        writer = bk.create_ledger(2, 2, 2)
        changed = bytearray(b"as it was")
        first = writer.append_later(changed)
        changed[:] = b"different"
        refused = [writer.append_later(payload) for payload in ("text", b"x" * 10_000_000)]  # type: ignore[arg-type]
        assert [type(each.exception(TIMEOUT_S)) for each in refused] == [InvalidArgument] * 2
        appends = [writer.append_later(b"%d" % number) for number in range(1, 5000)]
        stored = [
            each.result() for each in appends if not isinstance(each.exception(TIMEOUT_S), TooManyOutstandingAdds)
        ]
        assert first.result() == 0
        assert stored == list(range(1, len(stored) + 1))
        assert writer.append(b"last") == len(stored) + 1
        writer.close()
        assert isinstance(writer.append_later(b"late").exception(TIMEOUT_S), LedgerClosed)
        reader = bk.open_ledger(writer.ledger_id)
        reads = [reader.read_entry_later(entry_id) for entry_id in range(len(stored) + 3)]
        assert isinstance(reads.pop().exception(TIMEOUT_S), InvalidArgument)
        payloads = [each.result(TIMEOUT_S).payload for each in reads]
        assert (payloads[0], payloads[-1]) == (b"as it was", b"last")
