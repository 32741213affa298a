"""bookkeeper_tx.bookie.http.list_ledgers, ledger_metadata, read_ledger, delete_ledger: the ledgers of the cluster."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from attrs import evolve

from bookkeeper_tx.bookie.http import list_ledgers as listing
from bookkeeper_tx.bookie.http import read_ledger as reading
from bookkeeper_tx.errors import NoSuchLedger
from bookkeeper_tx.model import DigestType, Entry, Fragment, LedgerId, LedgerMetadata
from tests.bookie.http.asked import Asked, FakeClient
from tests.conftest import failure_of, result_of

METADATA = LedgerMetadata(
    1,
    1,
    1,
    [Fragment(0, ("a:1",)), Fragment(7, ("b:1",))],
    DigestType.CRC32C,
    b"secret",
    custom_metadata={"a": b"x\0y"},
    ctime_ms=1795662658961,
)
LEDGER = "/api/v1/ledger"


def make(asked: Asked, ledger_id: int, metadata: LedgerMetadata = METADATA) -> None:
    result_of(asked.store.create_ledger(ledger_id, metadata))


# Listing -------------------------------------------------------------------------------------------------------------


def test_ids_are_listed(asked: Asked) -> None:
    assert asked.ask(f"{LEDGER}/list").json == {}
    for ledger_id in (7, 3, LedgerId(5, 9)):
        make(asked, ledger_id)
    assert asked.ask(f"{LEDGER}/list").text == '{\n  "3" : null,\n  "7" : null\n}'
    assert asked.ask(f"{LEDGER}/list?page=x").json == {"3": None, "7": None}
    assert asked.ask(f"{LEDGER}/list?ledger_scope_id=9").json == {"5": None}
    assert asked.ask(f"{LEDGER}/list?ledger_scope_id=8").json == {}


def test_metadata_is_listed_as_it_is_stored_or_decoded(asked: Asked) -> None:
    make(asked, 3, evolve(METADATA, format_version=2))
    stored = asked.ask(f"{LEDGER}/list?print_metadata=true").json["3"]
    assert stored.startswith("BookieMetadataFormatVersion\t2\nquorumSize: 1\n")
    decoded = asked.ask(f"{LEDGER}/list?print_metadata=true&decode_meta=true").json
    assert decoded == asked.ask(f"{LEDGER}/metadata?ledger_id=3").json


def test_pages_are_cut_as_java_cuts_them(asked: Asked) -> None:
    ids = [LedgerId(each) for each in range(250)]
    assert [len(listing.page_of(ids, page)) for page in (1, 2, 3, 4)] == [99, 100, 51, 0]
    assert [int(each) for each in listing.page_of(ids, 2)[:2]] == [99, 100]
    for ledger_id in range(101):
        make(asked, ledger_id)
    path = f"{LEDGER}/list?print_metadata=true"
    assert list(asked.ask(f"{path}&page=2").json) == ["99", "100"]
    assert len(asked.ask(f"{path}&page=0").json) == len(asked.ask(path).json) == 101
    assert asked.ask(f"{path}&page=x").status == 500


def test_a_ledger_that_is_deleted_meanwhile_is_left_out(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    make(asked, 3)
    ids = asked.store.list_ledgers

    def with_one_that_has_gone(scope_id: int) -> Any:
        return ids(scope_id).addCallback(lambda found: [*found, 4])

    monkeypatch.setattr(asked.store, "list_ledgers", with_one_that_has_gone)
    assert list(asked.ask(f"{LEDGER}/list?print_metadata=true").json) == ["3"]


def test_more_metadata_than_an_answer_may_have_is_refused(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    make(asked, 3)
    monkeypatch.setattr(listing, "ANSWER_BYTES_MAX", 10)
    refused = asked.ask(f"{LEDGER}/list?print_metadata=true")
    assert refused.status == 400
    assert "page=1" in refused.text


def test_so_much_metadata_is_counted_as_is_sent(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    make(asked, 3)
    for query in ("", "&decode_meta=true"):
        path = f"{LEDGER}/list?print_metadata=true{query}"
        size = len(asked.ask(path).body)
        with monkeypatch.context() as limited:
            limited.setattr(listing, "ANSWER_BYTES_MAX", size - 1)
            assert asked.ask(path).status == 400


# Metadata ------------------------------------------------------------------------------------------------------------


def test_metadata_has_javas_names(asked: Asked) -> None:
    make(asked, 3)
    found = asked.ask(f"{LEDGER}/metadata?ledger_id=3").json["3"]
    assert list(found) == [
        *("ledgerId", "metadataFormatVersion", "ensembleSize", "writeQuorumSize", "ackQuorumSize", "state", "length"),
        *("lastEntryId", "ctime", "digestType", "password", "customMetadata", "closed", "allEnsembles", "ctoken"),
    ]
    assert found.pop("ctoken") > 0
    assert found == {
        "ledgerId": 3,
        "metadataFormatVersion": 3,
        "ensembleSize": 1,
        "writeQuorumSize": 1,
        "ackQuorumSize": 1,
        "state": "OPEN",
        "length": 0,
        "lastEntryId": -1,
        "ctime": 1795662658961,
        "digestType": "CRC32C",
        "password": "c2VjcmV0",
        "customMetadata": {"a": "eAB5"},
        "closed": False,
        "allEnsembles": {"0": [{"id": "a:1"}], "7": [{"id": "b:1"}]},
    }


def test_a_closed_ledger_has_its_end(asked: Asked) -> None:
    make(asked, 3)
    result_of(asked.store.write_ledger(3, METADATA.with_close(11, 500), 0))
    found = asked.ask(f"{LEDGER}/metadata?ledger_id=3").json["3"]
    wanted = "state", "closed", "lastEntryId", "length", "ctoken"
    assert [found[name] for name in wanted] == ["CLOSED", True, 11, 500, 0]


def test_a_ledger_of_a_scope_is_found_by_both_halves_of_its_id(asked: Asked) -> None:
    make(asked, LedgerId(-5, 9))
    found = asked.ask(f"{LEDGER}/metadata?ledger_id=-5&ledger_scope_id=9").json["-5"]
    assert (found["ledgerId"], found["ledgerScopeId"]) == (-5, 9)
    assert asked.ask(f"{LEDGER}/metadata?ledger_id=5&ledger_scope_id=8").status == 500


@pytest.mark.parametrize("query", ["ledger_id=77", "ledger_id=x", "ledger_id=", "ledger_id=-1", f"ledger_id={2**63}"])
def test_what_is_no_ledger_is_answered_with_500_as_with_java(asked: Asked, query: str) -> None:
    assert asked.ask(f"{LEDGER}/metadata?{query}").status == 500
    assert asked.ask(f"{LEDGER}/read?{query}").status == 500


def test_an_id_is_needed(asked: Asked) -> None:
    assert asked.ask(f"{LEDGER}/metadata").status == asked.ask(f"{LEDGER}/read").status == 404
    reply = asked.ask(f"{LEDGER}/delete", "DELETE")
    assert (reply.status, reply.text) == (404, "Not ledger found. Should provide ledger_id=<id>")


# Deleting ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ledger_id", "query"), [(3, "ledger_id=3"), (LedgerId(3, 9), "ledger_id=3&ledger_scope_id=9")]
)
def test_a_deleted_ledger_is_gone_and_may_be_deleted_again(asked: Asked, ledger_id: int, query: str) -> None:
    make(asked, 4)
    make(asked, ledger_id)
    for _ in range(2):
        assert asked.ask(f"{LEDGER}/delete?{query}", "DELETE").json == "Deleted ledger: 3"
        failure_of(asked.store.read_ledger(ledger_id), NoSuchLedger)
    result_of(asked.store.read_ledger(4))


# Reading -------------------------------------------------------------------------------------------------------------


class Reader:
    """A ledger of 3003 entries, the last of which is not confirmed."""

    last_add_confirmed = 3001
    closed = False

    async def __aenter__(self) -> "Reader":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.closed = True

    async def entries(self, first: int, last: int) -> AsyncGenerator[list[Entry], None]:
        for at in range(first, last + 1, 100):
            ids = range(at, min(at + 100, last + 1))
            yield [Entry(3, each, b"hello %d" % each if each else b"\xff\0", each - 1, 0) for each in ids]


class Opening:
    """A client that opens that ledger."""

    def __init__(self) -> None:
        self.opened: list[Any] = []
        self.readers: list[Reader] = []

    async def open_ledger_no_recovery(self, *arguments: Any) -> Reader:
        self.opened.append(arguments)
        self.readers.append(Reader())
        return self.readers[-1]


@pytest.fixture
def opening(asked: Asked) -> Opening:
    make(asked, 3)
    opening = Opening()
    asked.bookie.client = FakeClient(opening)  # type: ignore[assignment]
    return opening


def ids_in(answer: dict[str, str]) -> list[int]:
    return [int(key) for key in answer if key != "Entries for page: "]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("", range(3002)),
        ("&start_entry_id=3000", range(3000, 3002)),
        ("&start_entry_id=3000&end_entry_id=3009", range(3000, 3002)),
        ("&start_entry_id=5&end_entry_id=7", range(5, 8)),
        ("&start_entry_id=9000", range(0)),
        ("&start_entry_id=9000&end_entry_id=9009", range(0)),
        ("&page=1", range(1000)),
        ("&page=4", range(3000, 3002)),
        ("&page=9", range(0)),
        ("&page=3&start_entry_id=2999", range(2999, 3000)),
        ("&page=4&start_entry_id=3000&end_entry_id=3000", range(3000, 3001)),
        ("&page=-5&start_entry_id=3000", range(3000, 3002)),
    ],
)
def test_entries_are_read_up_to_the_last_add_confirmed(asked: Asked, opening: Opening, query: str, ids: range) -> None:
    found = asked.ask(f"{LEDGER}/read?ledger_id=3{query}").json
    assert ids_in(found) == list(ids)
    page = found.get("Entries for page: ")
    assert page == (query.partition("page=")[2].partition("&")[0] if "page=" in query and "-5" not in query else None)
    assert opening.opened == [(3, b"secret", DigestType.CRC32C)]
    assert opening.readers[0].closed, "it would watch the ledger as long as the bookie runs"


@pytest.mark.usefixtures("opening")
def test_entries_are_text_whatever_they_hold(asked: Asked) -> None:
    found = asked.ask(f"{LEDGER}/read?ledger_id=3&end_entry_id=1").json
    assert found == {"0": "�\0", "1": "hello 1"}


@pytest.mark.parametrize(
    ("query", "first", "last", "page"),
    [
        ("start_entry_id=5&end_entry_id=3", 5, 3, -1),
        ("start_entry_id=3000&end_entry_id=-2", 3000, -2, -1),
        ("start_entry_id=3000&end_entry_id=3001&page=2", 3000, 1999, 2),
    ],
)
@pytest.mark.usefixtures("opening")
def test_a_range_without_entries_is_refused(asked: Asked, query: str, first: int, last: int, page: int) -> None:
    refused = asked.ask(f"{LEDGER}/read?ledger_id=3&{query}")
    assert (refused.status, refused.text) == (
        500,
        f"parameter for start_entry_id: {first} and end_entry_id: {last} conflict with page={page}",
    )


@pytest.mark.usefixtures("opening")
def test_more_entries_than_an_answer_may_have_are_refused(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "ANSWER_BYTES_MAX", 500)
    refused = asked.ask(f"{LEDGER}/read?ledger_id=3")
    assert refused.status == 400
    assert "end_entry_id" in refused.text
    assert asked.ask(f"{LEDGER}/read?ledger_id=3&end_entry_id=9").status == 200
