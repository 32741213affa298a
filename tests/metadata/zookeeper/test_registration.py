"""Registrations and cookies on a ZooKeeper in memory: lost answers, lost sessions."""

from typing import Any

import pytest
from twisted.internet.task import deferLater
from twisted.logger import LogLevel, capturedLogs

from bookkeeper_tx.errors import BookieIdInUse
from tests.conftest import result_of
from tests.metadata.contract import INFO, OTHER_INFO
from tests.metadata.zookeeper.zookeeper_world import World


def test_a_move_to_read_only_makes_the_new_node_before_the_old_one_goes(world: World) -> None:
    store, _ = world.open()
    result_of(store.register_bookie("a:1", INFO))
    world.server.requests.clear()
    result_of(store.register_bookie("a:1", INFO, read_only=True))
    changes = [request for request in world.server.requests if request[0] in ("create", "delete")]
    assert changes == [
        ("create", "/made/ledgers/available/readonly/a:1"),
        ("delete", "/made/ledgers/available/a:1"),
    ]


@pytest.mark.parametrize("read_only", [False, True])
def test_a_new_session_registers_again(world: World, read_only: bool) -> None:
    store, session = world.open()
    result_of(store.register_bookie("a:1", INFO, read_only=read_only))
    result_of(store.register_bookie("b:1", OTHER_INFO))
    result_of(store.unregister_bookie("b:1"))
    session.expire()
    expected = frozenset({"a:1"})
    assert result_of(store.read_only_bookies() if read_only else store.writable_bookies()) == expected
    assert result_of(store.bookie_info("a:1")) == INFO


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("last", ["create", "exists"])
def test_a_session_that_ends_during_the_first_registration(
    world: World, monkeypatch: pytest.MonkeyPatch, last: str, read_only: bool
) -> None:
    store, session = world.open()
    submit, left = session.submit, ["exists", "exists", "create", "exists"]

    def submit_and_expire(name: str, path: str, *args: Any, **kwargs: Any) -> Any:
        answer = submit(name, path, *args, **kwargs)
        if left and path.endswith("a:1"):
            assert left.pop(0) == name
            if name == last and "create" not in left:
                left.clear()
                session.expire()
        return answer

    monkeypatch.setattr(session, "submit", submit_and_expire)
    result_of(store.register_bookie("a:1", INFO, read_only=read_only))
    assert left == []
    world.wait(600)
    assert result_of(store.read_only_bookies() if read_only else store.writable_bookies()) == frozenset({"a:1"})


def test_an_id_that_was_taken_meanwhile_is_reported_lost(world: World) -> None:
    store, session = world.open()
    other, _ = world.open()
    lost: list[BaseException] = []
    result_of(store.register_bookie("a:1", INFO, lost=lost.append))
    world.server.end_session(session.session_id)
    result_of(other.register_bookie("a:1", OTHER_INFO))
    session.expire()
    world.wait(20)
    (error,) = lost
    assert isinstance(error, BookieIdInUse)
    assert result_of(store.bookie_info("a:1")) == OTHER_INFO


def test_registering_again_is_tried_until_it_succeeds(world: World) -> None:
    store, session = world.open()
    result_of(store.register_bookie("a:1", INFO))
    session.down = True
    session.expire()
    world.wait(60)
    session.down = False
    world.wait(60)
    assert result_of(store.writable_bookies()) == frozenset({"a:1"})


def test_of_many_sessions_that_come_and_go_one_attempt_to_register_is_made_at_a_time(world: World) -> None:
    store, session = world.open()
    result_of(store.register_bookie("a:1", INFO))
    session.down = True
    with capturedLogs() as events:
        for _ in range(60):
            session.expire()
            world.wait(2)
            assert len(session.waiting) <= 1
    said = [event["log_format"] for event in events if event["log_level"] is not LogLevel.info]
    assert said == ["could not register again, trying on: {error}"]
    session.down = False
    world.wait(30)
    assert result_of(store.writable_bookies()) == {"a:1"}
    assert world.server.nodes["/made/ledgers/available/a:1"].owner == session.session_id


def test_the_node_of_a_dead_process_is_waited_for(world: World) -> None:
    store, _ = world.open()
    _, dead = other = world.open()
    result_of(other[0].register_bookie("a:1", OTHER_INFO))
    registering = store.register_bookie("a:1", INFO)
    world.wait(5)
    assert not registering.called
    world.server.end_session(dead.session_id)
    world.wait(1)
    result_of(registering)
    assert result_of(store.bookie_info("a:1")) == INFO


def test_a_dead_process_is_waited_for_anew_when_the_servers_have_another_leader(world: World) -> None:
    """It counts the time of each session anew."""
    store, session = world.open()
    old, dead = world.open()
    result_of(old.register_bookie("a:1", OTHER_INFO))
    registering = store.register_bookie("a:1", INFO)
    world.wait(8)
    session.reconnect()
    world.wait(9)
    assert not registering.called
    world.server.end_session(dead.session_id)
    world.wait(1)
    result_of(registering)


def test_a_node_is_no_other_one_s_while_the_connection_is_down(world: World) -> None:
    store, session = world.open()
    lost: list[BaseException] = []
    result_of(store.register_bookie("a:1", INFO, lost=lost.append))
    own, submit = session.session_id, session.submit

    def slow(name: str, path: str, *args: Any, **kwargs: Any) -> Any:
        session.submit = submit  # type: ignore[method-assign]

        def answer() -> Any:
            session.session_id = None  # type: ignore[assignment]
            world.clock.callLater(0.5, setattr, session, "session_id", own)
            return submit(name, path, *args, **kwargs)

        return deferLater(world.clock, 13, answer)

    session.submit = slow  # type: ignore[method-assign]
    changing = store.register_bookie("a:1", INFO, read_only=True, lost=lost.append)
    world.wait(20)
    result_of(changing)
    assert result_of(store.read_only_bookies()) == {"a:1"}
    assert lost == []


def test_what_another_process_has_registered_is_not_removed_when_the_request_is_repeated(world: World) -> None:
    (store, session), (other, _) = world.open(), world.open()
    result_of(store.register_bookie("a:1", INFO))
    registering = other.register_bookie("a:1", OTHER_INFO)
    world.clock.advance(0.18)
    session.lose("delete", True)
    leaving = store.unregister_bookie("a:1")
    world.settle(leaving)
    result_of(registering)
    assert result_of(store.bookie_info("a:1")) == OTHER_INFO


def test_registration_with_a_lost_answer(world: World) -> None:
    store, session = world.open()
    session.lose("create", True)
    world.settle(store.register_bookie("a:1", INFO))
    assert result_of(store.writable_bookies()) == frozenset({"a:1"})


@pytest.mark.parametrize("carried_out", [True, False])
def test_cookies_with_lost_answers(world: World, carried_out: bool) -> None:
    store, session = world.open()
    result_of(store.write_cookie("b:1", b"", None))
    session.lose("create", carried_out)
    assert world.settle(store.write_cookie("a:1", b"one", None)) == 0
    session.lose("set", carried_out)
    assert world.settle(store.write_cookie("a:1", b"two", 0)) == 1
    session.lose("delete", carried_out)
    world.settle(store.delete_cookie("a:1", 1))
    assert result_of(store.read_cookie("a:1")) is None
