"""bookkeeper_tx.bookie.registration: the registration follows the bookie's readiness for adds."""

from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import Clock

from bookkeeper_tx.bookie.availability import Availability, Reason
from bookkeeper_tx.bookie.registration import RETRY_DELAY_S, Registration, advertised
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import BookieIdInUse, MetadataUnavailable
from bookkeeper_tx.model import BookieServiceInfo


class Store:
    """Registers one bookie, when the test lets it."""

    def __init__(self) -> None:
        self.read_only: bool | None = None
        self.error: Exception | None = None
        self.held: list[Callable[[], None]] | None = None
        self.lost: Any = None

    def register_bookie(self, bookie_id: str, info: Any, read_only: bool, lost: Any) -> Deferred[None]:
        self.lost = lost
        if self.error is not None:
            return fail(self.error)
        if self.held is None:
            self.read_only = read_only
            return succeed(None)
        done: Deferred[None] = Deferred()

        def finish() -> None:
            self.read_only = read_only
            done.callback(None)

        self.held.append(finish)
        return done

    def unregister_bookie(self, bookie_id: str) -> Deferred[None]:
        self.read_only = None
        return succeed(None)


class Bench:
    def __init__(self) -> None:
        self.clock, self.store, self.availability = Clock(), Store(), Availability()
        self.lost: list[BaseException] = []
        info = BookieServiceInfo("h", 1)
        self.registration = Registration(self.clock, self.store, "h:1", info, self.availability, self.lost.append)


def test_a_bookie_is_registered_and_unregistered(result_of: Any) -> None:
    bench = Bench()
    result_of(bench.registration.start())
    assert bench.store.read_only is False
    result_of(bench.registration.stop())
    assert bench.store.read_only is None
    bench.availability.note(Reason.FLUSH_FAILED, True)
    assert bench.store.read_only is None


def test_want_of_space_is_told_and_its_end(result_of: Any) -> None:
    bench = Bench()
    result_of(bench.registration.start())
    bench.availability.note(Reason.FLUSH_FAILED, True)
    assert bench.store.read_only is True
    bench.availability.note(Reason.FLUSH_FAILED, False)
    assert bench.store.read_only is False


def test_changes_while_one_is_under_way_come_after_it(result_of: Any) -> None:
    bench = Bench()
    result_of(bench.registration.start())
    bench.store.held = []
    bench.availability.note(Reason.FLUSH_FAILED, True)
    bench.availability.note(Reason.FLUSH_FAILED, False)
    assert len(bench.store.held) == 1
    bench.store.held.pop()()
    assert bench.store.read_only is True
    bench.store.held.pop()()
    assert bench.store.read_only is False


def test_a_change_during_the_first_registration_comes_after_it() -> None:
    bench = Bench()
    bench.availability.note(Reason.FLUSH_FAILED, True)
    bench.store.held = []
    bench.registration.start()
    bench.availability.note(Reason.FLUSH_FAILED, False)
    assert len(bench.store.held) == 1
    bench.store.held.pop()()
    assert bench.store.read_only is True
    bench.store.held.pop()()
    assert bench.store.read_only is False


def test_a_change_that_failed_is_tried_again(result_of: Any) -> None:
    bench = Bench()
    result_of(bench.registration.start())
    bench.store.error = MetadataUnavailable()
    bench.availability.note(Reason.FLUSH_FAILED, True)
    bench.store.error = None
    assert bench.store.read_only is False
    bench.clock.advance(RETRY_DELAY_S)
    assert bench.store.read_only is True
    assert bench.clock.getDelayedCalls() == []


def test_a_stop_gives_up_trying(result_of: Any) -> None:
    bench = Bench()
    result_of(bench.registration.start())
    bench.store.error = MetadataUnavailable()
    bench.availability.note(Reason.FLUSH_FAILED, True)
    result_of(bench.registration.stop())
    assert bench.clock.getDelayedCalls() == []


def test_an_id_that_another_process_has_taken_is_lost(result_of: Any, failure_of: Any) -> None:
    bench = Bench()
    bench.store.error = BookieIdInUse("taken")
    failure_of(bench.registration.start(), BookieIdInUse)
    bench.store.error = None
    result_of(bench.registration.start())
    bench.store.error = BookieIdInUse("taken")
    bench.availability.note(Reason.FLUSH_FAILED, True)
    assert [type(error) for error in bench.lost] == [BookieIdInUse]


@pytest.mark.parametrize(
    ("settings", "serves_tls", "extensions"),
    [
        ({}, False, {"batch-read-v3", "ledger-scope-id"}),
        ({}, True, {"batch-read-v3", "ledger-scope-id", "tls"}),
        ({"wire_compat": "4.16"}, False, set()),
        ({"wire_compat": "4.16"}, True, {"tls"}),
    ],
)
def test_what_a_bookie_can_is_published(settings: dict[str, Any], serves_tls: bool, extensions: set[str]) -> None:
    config = BookieConfig(metadata_uri="sqlite:///m", journal_directory="/j", ledger_directory="/l", **settings)
    assert advertised(config, serves_tls) == extensions
