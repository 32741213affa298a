"""bookkeeper_tx.metadata.etcd.client: changes whose answers are lost, pages, and the limit of time."""

import pytest

from bookkeeper_tx.errors import MetadataUnavailable
from bookkeeper_tx.metadata.etcd import client as etcd_client
from bookkeeper_tx.metadata.etcd.channel import ConnectionLost
from tests.metadata.etcd.etcd_world import TIMEOUT_S, World


@pytest.mark.parametrize("what", ["request", "answer"])
def test_a_change_whose_outcome_is_unknown_is_found_to_be_its_own(world: World, what: str) -> None:
    client = world.new_client()
    world.lose_next("Txn", what)
    assert client.write("k", b"one", None).done
    world.lose_next("Txn", what)
    assert client.write("k", b"two", 0).done
    found = client.read("k")
    assert found is not None
    assert (found.value, found.version) == (b"two", 1)
    world.lose_next("Txn", what)
    assert client.delete("k", 1).done
    assert client.read("k") is None


@pytest.mark.parametrize("what", ["request", "answer"])
def test_what_others_change_after_a_lost_request_is_not_taken_for_its_own(world: World, what: str) -> None:
    client, other = world.new_client(), world.new_client()
    world.lose_next("Txn", "request", then=lambda: other.write("k", b"theirs", None))
    outcome = client.write("k", b"mine", None)
    assert not outcome.done
    assert outcome.found is not None
    assert outcome.found.value == b"theirs"


@pytest.mark.parametrize("what", ["request", "answer"])
def test_a_deletion_whatever_the_version(world: World, what: str) -> None:
    client = world.new_client()
    assert not client.delete_any("k")
    client.write("k", b"", None)
    world.lose_next("Txn", what)
    assert client.delete_any("k")
    assert client.read("k") is None


def test_a_deletion_that_comes_late_leaves_a_key_that_is_made_anew(world: World) -> None:
    client = world.new_client()
    client.write("k", b"old", None)
    world.lose_next("Txn", "request")
    assert client.delete_any("k")
    client.write("k", b"new", None)
    ((name, request),) = world.etcd.lost
    world.etcd.answer(name, request)
    assert client.read("k") is not None


def test_a_deletion_whose_answer_is_lost_deletes_once(world: World) -> None:
    client, other = world.new_client(), world.new_client()
    client.write("k", b"old", None)
    world.lose_next("Txn", "answer", then=lambda: other.write("k", b"new", None))
    assert client.delete_any("k")
    assert client.read("k") is not None


def test_a_deletion_takes_what_others_write_meanwhile(world: World) -> None:
    client, other = world.new_client(), world.new_client()
    client.write("k", b"old", None)
    world.lose_next("Txn", "request", then=lambda: other.write("k", b"new", 0))
    assert client.delete_any("k")
    assert client.read("k") is None


def test_names_come_in_pages_and_only_from_below(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(etcd_client, "PAGE", 3)
    client = world.new_client()
    names = [f"{number:02}" for number in range(10)]
    for key in [*(f"/a/{name}" for name in names), "/a", "/a0", "/aa/1", "/a-/1"]:
        client.write(key, b"", None)
    world.etcd.requests.clear()
    assert client.names("/a") == names
    assert world.etcd.requests == ["Range"] * 4
    assert client.names("/b") == []


def test_many_keys_are_read_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(etcd_client, "READS_AT_ONCE", 4)
    client = world.new_client()
    client.write("k3", b"three", None)
    world.etcd.requests.clear()
    found = list(client.read_each(f"k{number}" for number in range(10)))
    assert world.etcd.requests == ["Txn"] * 3
    assert [each and each.value for each in found] == [None] * 3 + [b"three"] + [None] * 6


def test_an_etcd_that_is_away_is_unavailable_when_the_time_is_over(world: World) -> None:
    client = world.new_client()
    world.etcd.lose = lambda name: "request"
    with pytest.raises(MetadataUnavailable, match=r"fake:2379 did not answer within 10 s"):
        client.read("k")
    assert world.now_s == pytest.approx(TIMEOUT_S)
    with client.until(client.deadline()), pytest.raises(MetadataUnavailable, match="may be made or not"):
        client.write("k", b"x", None)
    assert world.now_s == pytest.approx(2 * TIMEOUT_S)


def test_the_last_reason_is_said_when_the_time_is_over(world: World) -> None:
    client = world.new_client()
    reasons = iter(["refused", "DNS resolution failed", ""])

    def lose(name: str) -> str:
        world.etcd.reason = next(reasons, "")
        return "request"

    world.etcd.lose = lose
    with pytest.raises(MetadataUnavailable, match=r"did not answer within 10 s \(DNS resolution failed\); a") as caught:
        client.read("k")
    assert isinstance(caught.value.__cause__, ConnectionLost)
    with pytest.raises(MetadataUnavailable, match=r"did not answer within 10 s; a"):
        client.read("k")


def test_the_time_of_an_operation_is_over_once_for_all_its_requests(world: World) -> None:
    client = world.new_client()
    with client.until(client.deadline()):
        world.now_s += TIMEOUT_S - 1
        client.read("k")
        world.now_s += 2
        with pytest.raises(MetadataUnavailable):
            client.read("k")
    client.read("k")
