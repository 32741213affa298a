"""Ledgers of a scope other than 0 (BP-34): written, read and recovered; bookies without scopes are sent nothing."""

from typing import Any

import pytest

from bookkeeper_tx.client.ledger_reader import LedgerReader
from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import (
    BookieUnavailable,
    IllegalOperation,
    LedgerScopeNotSupported,
    MetadataUnavailable,
    NotEnoughBookies,
    ReadOnlyBookie,
    RequestTimedOut,
    UnknownLedgerState,
)
from bookkeeper_tx.model import LedgerId, LedgerState
from bookkeeper_tx.protocol.client.requests.batch_read import ReadBatch
from bookkeeper_tx.protocol.client.requests.force_ledger import ForceLedger
from bookkeeper_tx.protocol.client.requests.last_add_confirmed import ReadLastAddConfirmed, WriteLastAddConfirmed
from bookkeeper_tx.protocol.client.requests.list_entries import ListEntries
from bookkeeper_tx.protocol.client.requests.long_poll import AwaitLastAddConfirmed
from bookkeeper_tx.transport.last_known_address import PATIENCE_S
from protocol_specs.metadata.bookie import LEDGER_SCOPE_ID
from tests.client.puppet_bookie import PuppetBookie
from tests.client.puppets import Cluster

V3 = ClientConfig(protocol="v3", batch_read_capability_expiry_s=60)
LEDGER = LedgerId(-5, -9)


def scoped(extensions: frozenset[str] | None, bookies: int = 3) -> Cluster:
    cluster = Cluster([f"b{each}" for each in range(1, bookies + 1)])
    for bookie in cluster.bookies.values():
        bookie.extensions = extensions
    return cluster


def writer_of(cluster: Cluster, sizes: tuple[int, int, int] = (3, 3, 2)) -> LedgerWriter:
    writer: LedgerWriter = cluster.result(cluster.client(V3).create_ledger(*sizes, ledger_id=LEDGER))
    return writer


def requests(cluster: Cluster) -> list[str]:
    return [each.split(" ", 1)[1] for bookie in cluster.bookies.values() for each in bookie.requests]


@pytest.mark.parametrize("extensions", [frozenset({LEDGER_SCOPE_ID}), None], ids=["published", "probed"])
@pytest.mark.parametrize("sizes", [(3, 3, 2), (3, 2, 2)])
def test_a_scoped_ledger_has_the_life_of_any_other(extensions: Any, sizes: tuple[int, int, int]) -> None:
    cluster = scoped(extensions)
    writer = writer_of(cluster, sizes)
    for each in (b"one", b"two", b"three"):
        cluster.result(writer.append(each))
    cluster.network.run()
    tailing: LedgerReader = cluster.result(cluster.client(V3).open_ledger_no_recovery(LEDGER))
    assert tailing.last_add_confirmed == 1
    waiting = tailing.wait_last_add_confirmed()
    cluster.result(writer.write_last_add_confirmed())
    assert cluster.result(waiting) == 2
    cluster.result(writer.force())
    reader: LedgerReader = cluster.result(cluster.client(V3).open_ledger(LEDGER))
    entries = cluster.result(reader.read(0, 2))
    assert entries.payloads == [b"one", b"two", b"three"]
    assert [(each.entry_id, each.last_add_confirmed, each.length) for each in entries] == [
        (0, -1, 3),
        (1, 0, 6),
        (2, 1, 11),
    ]
    assert cluster.result(reader.read_entry(1)).payload == b"two"
    assert cluster.metadata(LEDGER).state is LedgerState.CLOSED


def test_a_bookie_that_publishes_nothing_is_asked_once() -> None:
    cluster = scoped(None)
    writer = writer_of(cluster)
    for _ in range(5):
        cluster.result(writer.append(b"payload"))
    probes = [each for each in requests(cluster) if each.startswith("lac ")]
    assert len(probes) == 3
    assert all(each.endswith(" own") for each in probes), "on a connection of its own"


def test_a_bookie_that_may_have_lost_the_ledger_has_told_that_it_knows_scopes() -> None:
    cluster = scoped(None, bookies=1)
    writer = writer_of(cluster, (1, 1, 1))
    cluster.result(writer.append(b"payload"))
    cluster.bookies["b1"].fails = UnknownLedgerState()
    cluster.bookies["b1"].interruptions = 1
    cluster.bookies["b1"].requests.clear()
    promise = cluster.client(V3).open_ledger_no_recovery(LEDGER)
    with pytest.raises(UnknownLedgerState):
        cluster.result(promise)
    assert len([each for each in requests(cluster) if each.startswith("lac ") and not each.endswith(" own")]) == 1


def test_what_was_found_out_expires() -> None:
    cluster = scoped(None)
    writer = writer_of(cluster)
    for _ in range(2):
        cluster.result(writer.append(b"payload"))
        cluster.network.run()
        cluster.clock.advance(61)
    assert len([each for each in requests(cluster) if each.startswith("lac ")]) == 6


def test_appends_stay_in_order_while_a_bookie_is_asked() -> None:
    cluster = scoped(None, bookies=1)
    writer = writer_of(cluster, (1, 1, 1))
    cluster.bookies["b1"].interruptions = 1
    appended = [writer.append(b"%d" % each) for each in range(5)]
    assert not any(" add " in each.text for each in cluster.network.messages)
    assert [cluster.result(each) for each in appended] == [0, 1, 2, 3, 4]
    assert [each.split("/")[1][0] for each in requests(cluster) if each.startswith("add")] == list("01234")


@pytest.mark.parametrize("extensions", [frozenset({"tls"}), None], ids=["published", "probed"])
def test_nothing_is_sent_to_a_bookie_that_knows_no_scopes(extensions: Any) -> None:
    cluster = scoped(frozenset({LEDGER_SCOPE_ID}))
    writer = writer_of(cluster)
    older = cluster.bookies["b2"]
    older.interruptions, older.extensions, older.knows_scopes = 1, extensions, False
    assert cluster.result(writer.append(b"two are enough")) == 0
    cluster.network.run()
    sent = [each.split(" ", 1)[1] for each in cluster.bookies["b2"].requests]
    assert sent == ([] if extensions else [f"lac {LEDGER} own"])
    assert LEDGER not in cluster.bookies["b2"].ledgers


@pytest.mark.parametrize("extensions", [frozenset({"tls"}), None], ids=["published", "probed"])
def test_behind_another_connection_a_bookie_may_know_no_scopes(extensions: Any) -> None:
    cluster = scoped(frozenset({LEDGER_SCOPE_ID}))
    writer = writer_of(cluster)
    cluster.result(writer.append(b"three have it"))
    cluster.network.run()
    older = cluster.bookies["b2"]
    older.interruptions, older.extensions, older.knows_scopes = 1, extensions, False
    older.requests.clear()
    assert cluster.result(writer.append(b"two are enough")) == 1
    cluster.network.run()
    assert older.requests == ([] if extensions else [f"b2 lac {LEDGER} own"])


@pytest.mark.parametrize("seed", range(4))
def test_only_a_bookie_that_knows_scopes_takes_the_place_of_another(seed: int) -> None:
    cluster = scoped(frozenset({LEDGER_SCOPE_ID}), bookies=6)
    cluster._seed = seed
    writer = writer_of(cluster)
    spare = set(cluster.bookies) - set(writer.metadata.last_fragment.ensemble)
    (able, *others) = sorted(spare)
    for each in others:
        cluster.bookies[each].extensions, cluster.bookies[each].knows_scopes = frozenset({"tls"}), False
    written = cluster.state.ledgers[LEDGER].version
    failing, first = writer.append(b"payload"), writer.metadata.last_fragment.ensemble[0]
    cluster.network.run(until=lambda: any("add" in each.text for each in cluster.network.messages))
    cluster.network.lose(cluster.network.find(f"request {first} add"))
    assert cluster.result(failing) == 0
    cluster.network.run()
    assert able in writer.metadata.last_fragment.ensemble
    assert cluster.state.ledgers[LEDGER].version == written + 1, "nothing else was written down in between"
    assert not any(cluster.bookies[each].requests for each in others)


def test_rather_two_that_know_scopes_than_a_third_that_does_not() -> None:
    cluster = scoped(frozenset({LEDGER_SCOPE_ID}))
    writer = writer_of(cluster)
    ensemble = writer.metadata.last_fragment.ensemble
    cluster.bookies["b4"] = PuppetBookie("b4", extensions=frozenset(), knows_scopes=False)
    failing = writer.append(b"payload")
    cluster.network.run(until=lambda: any("add" in each.text for each in cluster.network.messages))
    cluster.network.lose(cluster.network.find(f"request {ensemble[0]} add"))
    assert cluster.result(failing) == 0
    cluster.network.run()
    assert cluster.metadata(LEDGER).last_fragment.ensemble == ensemble
    assert cluster.result(writer.append(b"payload")) == 1


def test_who_could_not_take_the_place_of_another_is_said() -> None:
    cluster = scoped(frozenset({LEDGER_SCOPE_ID}), bookies=1)
    writer = writer_of(cluster, (1, 1, 1))
    cluster.bookies["b2"] = PuppetBookie("b2", extensions=frozenset(), knows_scopes=False)
    cluster.bookies["b1"].fails = ReadOnlyBookie()
    with pytest.raises(NotEnoughBookies, match=r"b2 know no ledger scopes \(BP-34\), and without them 1 bookies"):
        cluster.result(writer.append(b"payload"))
    assert cluster.bookies["b2"].requests == []


def test_recovery_writes_back_to_bookies_that_know_scopes() -> None:
    cluster = scoped(frozenset({LEDGER_SCOPE_ID}), bookies=5)
    writer = writer_of(cluster)
    ensemble = writer.metadata.last_fragment.ensemble
    cluster.result(writer.append(b"payload"))
    cluster.network.run()
    able, unable = sorted(set(cluster.bookies) - set(ensemble))
    cluster.bookies[unable].extensions, cluster.bookies[unable].knows_scopes = frozenset(), False
    cluster.bookies[ensemble[1]].down = True
    reader: LedgerReader = cluster.result(cluster.client(V3).open_ledger(LEDGER))
    assert cluster.metadata(LEDGER).fragments[-1].ensemble == (ensemble[0], able, ensemble[2])
    assert cluster.result(reader.read_entry(0)).payload == b"payload"
    assert cluster.bookies[unable].requests == []


def test_too_few_bookies_that_know_scopes_fail_the_append() -> None:
    cluster = scoped(None)
    writer = writer_of(cluster)
    for bookie in cluster.bookies.values():
        bookie.interruptions, bookie.knows_scopes = 1, False
    with pytest.raises(LedgerScopeNotSupported, match=r"knows no ledger scopes \(BP-34\)"):
        cluster.result(writer.append(b"payload"))
    assert not any(bookie.ledgers for bookie in cluster.bookies.values())


def test_every_request_is_held_back() -> None:
    cluster = scoped(frozenset())
    client = cluster.client(V3)
    channel = client._context.channel("b1", LEDGER)
    found: list[Any] = []

    def done(error: Any, _: Any) -> None:
        found.append(type(error))

    channel.add_entry(LEDGER, 0, b"", b"", done)
    channel.read_entry(LEDGER, 0, done)
    channel.read_range(LEDGER, 0, 1, done)
    channel.send(ReadBatch(LEDGER, 0, 1, 1), done)
    channel.send(ReadLastAddConfirmed(LEDGER), done)
    channel.send(WriteLastAddConfirmed(LEDGER, 0, b"", b""), done)
    channel.send(AwaitLastAddConfirmed(LEDGER, 0, 0, True), done)
    channel.send(ForceLedger(LEDGER), done)
    channel.send(ListEntries(LEDGER), done)
    assert found == []
    cluster.network.run()
    cluster.clock.advance(0)
    assert found == [LedgerScopeNotSupported] * 9
    channel.send(ForceLedger(LEDGER), done)
    assert len(found) == 9, "never before the call has returned"
    cluster.clock.advance(0)
    assert found == [LedgerScopeNotSupported] * 10
    assert cluster.bookies["b1"].requests == []


@pytest.mark.parametrize("silent", [True, False])
def test_while_the_store_does_not_tell_a_bookie_is_asked_itself(silent: bool) -> None:
    cluster = scoped(frozenset({LEDGER_SCOPE_ID}), bookies=1)
    channel = cluster.client(V3)._context.channel("b1", LEDGER)
    found: list[Any] = []
    channel.send(ForceLedger(LEDGER), lambda error, _: found.append(error))
    if silent:
        cluster.clock.advance(PATIENCE_S)
    else:
        cluster.network.lose(cluster.network.find("store info"), MetadataUnavailable())
    cluster.network.run()
    cluster.clock.advance(0)
    cluster.network.run()
    assert found == [None]


def test_what_could_not_be_found_out_is_asked_again() -> None:
    cluster = scoped(None, bookies=1)
    channel = cluster.client(V3)._context.channel("b1", LEDGER)
    found: list[Any] = []
    channel.send(ForceLedger(LEDGER), lambda error, _: found.append(error))
    cluster.network.run(until=lambda: any("lac" in each.text for each in cluster.network.messages))
    cluster.network.lose(cluster.network.find("lac"))
    cluster.clock.advance(0)
    assert [type(each) for each in found] == [RequestTimedOut]
    channel.send(ForceLedger(LEDGER), lambda error, _: found.append(error))
    cluster.network.run()
    assert found[1] is None


@pytest.mark.parametrize(("extensions", "lost"), [(frozenset({LEDGER_SCOPE_ID}), "store info"), (None, "lac")])
@pytest.mark.parametrize("interruptions", [0, 1])
def test_who_knew_scopes_knows_them_still_unless_it_may_be_another(
    extensions: Any, lost: str, interruptions: int
) -> None:
    """After the knowledge of a capability has expired, an append does not depend on the metadata store."""
    cluster = scoped(extensions, bookies=1)
    writer = writer_of(cluster, (1, 1, 1))
    cluster.result(writer.append(b"payload"))
    cluster.clock.advance(61)
    cluster.bookies["b1"].interruptions = interruptions
    appended = writer.append(b"payload")
    cluster.network.run(until=lambda: any(lost in each.text for each in cluster.network.messages))
    cluster.network.lose(cluster.network.find(lost), MetadataUnavailable() if extensions else RequestTimedOut())
    if interruptions and lost == "lac":
        with pytest.raises(NotEnoughBookies):
            cluster.result(appended)
        assert list(cluster.bookies["b1"].ledgers[LEDGER].entries) == [0]
    else:
        assert cluster.result(appended) == 1


def test_a_bookie_that_is_down_says_nothing_about_scopes() -> None:
    cluster = scoped(None, bookies=1)
    cluster.bookies["b1"].down = True
    channel = cluster.client(V3)._context.channel("b1", LEDGER)
    found: list[Any] = []
    channel.send(ForceLedger(LEDGER), lambda error, _: found.append(type(error)))
    cluster.network.run()
    cluster.clock.advance(0)
    assert found == [BookieUnavailable]


@pytest.mark.parametrize("known", [True, False])
def test_a_wait_can_be_given_up_while_a_bookie_is_asked(known: bool) -> None:
    cluster = scoped(None, bookies=1)
    channel = cluster.client(V3)._context.channel("b1", LEDGER)
    found: list[Any] = []
    give_up = channel.send(AwaitLastAddConfirmed(LEDGER, 0, 1000, True), lambda *answer: found.append(answer))
    if known:
        cluster.network.run(until=lambda: any("poll" in each.text for each in cluster.network.messages))
    give_up()
    cluster.network.run()
    cluster.clock.advance(0)
    assert found == []
    assert any("poll" in each for each in requests(cluster)) == known


def test_v2_says_at_once_that_it_cannot() -> None:
    cluster = scoped(frozenset({LEDGER_SCOPE_ID}))
    client = cluster.client()
    for ask in (lambda: client.create_ledger(ledger_id=LEDGER), lambda: client.open_ledger(LEDGER)):
        with pytest.raises(IllegalOperation, match="V3"):
            cluster.result(ask())
    assert requests(cluster) == []
