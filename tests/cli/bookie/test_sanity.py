"""The steps of ``bktx bookie sanity``, with a client that is none."""

from collections.abc import Sequence

import pytest
from attrs import define, field, frozen
from twisted.internet.defer import Deferred, fail, succeed

from bookkeeper_tx.cli.bookie.sanity import require_writable, try_bookie
from bookkeeper_tx.errors import BookKeeperError, InvalidArgument, NotEnoughBookies, StorageFailed
from tests.cli.bookie.bookie_files import run


@frozen
class Entry:
    payload: bytes


@define
class Client:
    """A client whose one bookie loses or changes entries."""

    given: Sequence[bytes] | None = None
    create_error: Exception | None = None
    read_error: Exception | None = None
    ledger_id: int = 7
    stored: list[bytes] = field(factory=list)
    deleted: list[int] = field(factory=list)

    def create_ledger(self, *sizes, password):
        return fail(self.create_error) if self.create_error else succeed(self)

    def append_many(self, payloads):
        self.stored += payloads
        return succeed(range(len(payloads)))

    def close(self):
        return succeed(None)

    def open_ledger(self, ledger_id, password):
        return succeed(self)

    def read(self, first, last):
        if self.read_error:
            return fail(self.read_error)
        return succeed([Entry(each) for each in (self.stored if self.given is None else self.given)][first : last + 1])

    def delete_ledger(self, ledger_id):
        self.deleted.append(ledger_id)
        return succeed(None)


def tried(result_of, client):
    return result_of(Deferred.fromCoroutine(try_bookie(client, "b:1", [b"one", b"two"], iter(range(9)).__next__)))


def test_every_step_is_timed_and_the_ledger_is_gone(result_of):
    client = Client()
    assert tried(result_of, client) == {"ledger_id": 7, "create_s": 1, "write_s": 1, "read_s": 1, "delete_s": 1}
    assert client.deleted == [7]


@pytest.mark.parametrize(
    ("client", "error", "text"),
    [
        (Client(given=[b"one", b"tow"]), BookKeeperError, "gives other entries"),
        (Client(read_error=StorageFailed("torn")), StorageFailed, "torn"),
    ],
)
def test_a_failure_is_told_and_the_ledger_is_gone_all_the_same(result_of, client, error, text):
    with pytest.raises(error, match=text):
        tried(result_of, client)
    assert client.deleted == [7]


def test_a_bookie_that_is_not_registered(result_of):
    client = Client(create_error=NotEnoughBookies("1 bookies are needed"))
    with pytest.raises(InvalidArgument, match="bookie b:1 is not registered as writable: start it first"):
        tried(result_of, client)
    assert client.deleted == []


def test_it_must_be_said_which_bookie():
    assert "--bookie-id ID" in run("sanity", "--metadata", "sqlite:////nowhere").stderr


class Registered:
    """A metadata store in which one bookie can be written to, and another one only read."""

    def writable_bookies(self):
        return succeed(frozenset(["w:1"]))

    def read_only_bookies(self):
        return succeed(frozenset(["r:1"]))


@pytest.mark.parametrize(
    ("bookie_id", "text"), [("r:1", "r:1 is read-only, and takes no entry"), ("x:1", "x:1 is not registered as")]
)
def test_why_a_bookie_cannot_be_tried(result_of, bookie_id, text):
    result_of(Deferred.fromCoroutine(require_writable(Registered(), "w:1")))
    with pytest.raises(InvalidArgument, match=text):
        result_of(Deferred.fromCoroutine(require_writable(Registered(), bookie_id)))
