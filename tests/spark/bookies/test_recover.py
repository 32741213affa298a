"""Recovery without a reactor: which ledgers failed, and why."""

import asyncio
import signal
import threading
from collections.abc import Iterator
from typing import Any, Self

import pytest

from bookkeeper_tx.config import ClientConfig, WireProtocol
from bookkeeper_tx.errors import BookieUnavailable, MetadataUnavailable, NoSuchLedger, RequestTimedOut
from bookkeeper_tx.model import DigestType, LedgerId
from bookkeeper_tx.spark.bookies.recover import recover_ledgers


class Client:
    """A client whose ledgers can be opened, or have an error; one of them is never opened."""

    def __init__(self, errors: dict[int, Exception], never: int | None = None, start: Exception | None = None) -> None:
        self.errors = errors
        self.never = never
        self.start_error = start
        self.asked: list[Any] = []
        self.closed = 0

    def __call__(self, uri: str, config: ClientConfig) -> Self:
        self.asked.append((uri, config))
        return self

    async def __aenter__(self) -> Self:
        if self.start_error is not None:
            raise self.start_error
        return self

    async def __aexit__(self, *_: object) -> None:
        self.closed += 1

    async def open_ledger(self, ledger_id: int, password: bytes, digest_type: DigestType) -> "Reader":
        assert threading.current_thread() is not threading.main_thread()
        self.asked.append((ledger_id, password, digest_type))
        if ledger_id == self.never:
            await asyncio.get_running_loop().create_future()
        if ledger_id in self.errors:
            raise self.errors[ledger_id]
        return Reader()


class Reader:
    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...


def recovered(client: Client, *ledger_ids: int, timeout_s: float = 60.0, config: ClientConfig | None = None) -> Any:
    arguments = ("sqlite:///x", ledger_ids, b"secret", DigestType.CRC32C, timeout_s)
    return recover_ledgers(*arguments, config=config, make_client=client)


def test_each_ledger_is_opened_and_has_its_own_error() -> None:
    gone, stays = NoSuchLedger("gone"), BookieUnavailable("stays in recovery")
    client = Client({1: gone, 3: stays})
    config = ClientConfig(read_timeout_s=1.0)
    assert recovered(client, 1, 2, 3, config=config) == {1: gone, 3: stays}
    assert client.asked == [("sqlite:///x", config), *((each, b"secret", DigestType.CRC32C) for each in (1, 2, 3))]
    assert client.closed == 1


def test_those_that_were_not_reached_in_time_have_timed_out() -> None:
    client = Client({1: NoSuchLedger()}, never=3)
    failed = recovered(client, 1, 2, 3, 4, timeout_s=0.01)
    assert {each: type(error) for each, error in failed.items()} == {
        1: NoSuchLedger,
        3: RequestTimedOut,
        4: RequestTimedOut,
    }
    assert str(failed[4]) == "ledger 4: not recovered within 0.01 s"
    assert client.closed == 1


def test_without_the_metadata_store_all_have_its_error() -> None:
    failed = recovered(Client({}, start=MetadataUnavailable("nobody there")), 1, 2)
    assert {each: type(error) for each, error in failed.items()} == dict.fromkeys((1, 2), MetadataUnavailable)
    assert str(failed[2]) == "ledger 2: nobody there"


def test_a_ledger_of_a_scope_is_recovered_over_v3() -> None:
    client = Client({})
    recovered(client, LedgerId(-3, 7))
    assert client.asked[0][1].protocol is WireProtocol.V3


def test_a_caller_with_a_loop_of_its_own_may_call() -> None:
    async def in_a_notebook() -> Any:
        return recovered(Client({1: NoSuchLedger()}), 1)

    assert list(asyncio.run(in_a_notebook())) == [1]


def test_what_is_no_error_of_ours_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        recovered(Client({1: ZeroDivisionError()}), 1)


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This thread is interrupted, as by Ctrl-C, when the thread that recovers is about to begin."""
    told = threading.Event()
    main, run = threading.get_ident(), asyncio.run

    def interrupt(*_: object) -> None:
        told.set()
        raise KeyboardInterrupt

    def run_late(coroutine: Any) -> None:
        signal.pthread_kill(main, signal.SIGINT)
        assert told.wait(20)
        run(coroutine)

    monkeypatch.setattr(asyncio, "run", run_late)
    before = signal.signal(signal.SIGINT, interrupt)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_before_it_has_begun_waits_for_nothing(interrupted: None) -> None:
    client = Client({}, never=1)
    with pytest.raises(KeyboardInterrupt):
        recovered(client, 1)
    for thread in threading.enumerate():
        if thread.name.startswith("recovery"):
            thread.join(20)
            assert not thread.is_alive()
    assert client.closed == len(client.asked[:1])
