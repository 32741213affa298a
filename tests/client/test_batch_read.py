"""Batch read: equal to single reads, never past the end, and not sent to bookies that lack it."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred

from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.client.ledger_reader import LedgerReader
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import (
    BadRequest,
    BatchReadNotSupported,
    BookieUnavailable,
    BookKeeperError,
    DigestMismatch,
    InvalidArgument,
    NoSuchEntry,
    StorageFailed,
    TooManyRequests,
)
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.transport.last_known_address import PATIENCE_S
from protocol_specs.metadata.bookie import BATCH_READ_V3
from tests.client.puppet_bookie import PuppetBookie
from tests.client.puppets import Cluster
from tests.client.tailed import Tailed
from tests.sampling import examples

HOW_BOOKIES_TAKE_IT = ["serves", "closes", "bad request", "bad version"]


def written(
    payloads: list[bytes],
    sizes: tuple[int, int, int] = (3, 3, 2),
    config: ClientConfig | None = None,
    digest_type: DigestType = DigestType.CRC32C,
) -> tuple[Cluster, BookKeeper, LedgerReader]:
    """Return a cluster, a client, and a reader of a closed ledger of ``payloads``."""
    cluster = Cluster()
    client = cluster.client(config)
    writer = cluster.result(client.create_ledger(*sizes, digest_type=digest_type))
    cluster.result(writer.append_many(payloads))
    cluster.result(writer.close())
    cluster.network.run()
    for bookie in cluster.bookies.values():
        bookie.requests.clear()
    return cluster, client, cluster.result(client.open_ledger(writer.ledger_id))


def requests(cluster: Cluster, operation: str) -> list[str]:
    return [each for bookie in cluster.bookies.values() for each in bookie.requests if f" {operation} " in each]


def damage(cluster: Cluster, bookie: str, entry_id: int) -> None:
    """Flip the last byte of a stored entry."""
    entries = cluster.bookies[bookie].ledgers[0].entries
    entries[entry_id] = entries[entry_id][:-1] + bytes([entries[entry_id][-1] ^ 1])


@settings(max_examples=examples(150), deadline=None)
@given(
    st.data(),
    st.lists(st.binary(max_size=60), min_size=1, max_size=30),
    st.sampled_from([(3, 3, 2), (3, 2, 2), (1, 1, 1)]),
    st.sampled_from(list(DigestType)),
    st.booleans(),
    st.sampled_from(["v2", "v3"]),
)
def test_batch_reads_equal_single_reads(
    data: Any, payloads: list[bytes], sizes: tuple[int, int, int], digest_type: DigestType, enabled: bool, protocol: str
) -> None:
    count = data.draw(st.integers(1, 12))
    config = ClientConfig(batch_read_enabled=enabled, batch_read_count=count, protocol=protocol)
    cluster, _, reader = written(payloads, sizes, config, digest_type)
    for bookie in cluster.bookies.values():
        bookie.batch = data.draw(st.sampled_from(HOW_BOOKIES_TAKE_IT))
        bookie.extensions = (
            frozenset({BATCH_READ_V3}) if bookie.batch == "serves" and data.draw(st.booleans()) else None
        )
        bookie.batch_entries_max = data.draw(st.integers(1, 8))
        for stray in range(len(payloads), len(payloads) + 3):
            if bookie.ledgers:
                bookie.ledgers[0].entries[stray] = EntryDigest(digest_type, b"").seal(0, stray, stray - 1, 0, b"stray")
    first = data.draw(st.integers(0, len(payloads) - 1))
    last = data.draw(st.integers(first, len(payloads) - 1))
    if sizes[1] > 1 and len(payloads) >= sizes[0]:
        victim = cluster.bookies[data.draw(st.sampled_from(reader.metadata.last_fragment.ensemble))]
        for entry_id in data.draw(st.sets(st.integers(first, last))) & set(victim.ledgers[0].entries):
            if digest_type is DigestType.DUMMY or data.draw(st.booleans()):
                del victim.ledgers[0].entries[entry_id]
            else:
                victim.ledgers[0].entries[entry_id] = victim.ledgers[0].entries[entry_id][:-1]
    expected = payloads[first : last + 1]
    by_batch = cluster.result(reader.read(first, last))
    by_singles = cluster.result(reader.read(first, last, batch=False))
    assert by_batch.payloads == by_singles.payloads == expected
    assert list(by_batch) == list(by_singles)
    assert [cluster.result(reader.read_entry(each)) for each in range(first, last + 1)] == list(by_batch)
    max_count, max_size = data.draw(st.integers(0, 12)), data.draw(st.integers(0, 2000))
    piece = cluster.result(reader.read_batch(first, max_count, max_size))
    assert 1 <= len(piece) <= (max_count or len(payloads))
    assert piece.payloads == payloads[first : first + len(piece)]
    overhead = EntryDigest(digest_type, b"").payload_offset + 4
    used = 36 + sum(len(each) + overhead for each in piece.payloads)
    assert len(piece) == 1 or not max_size or used <= max_size


@pytest.mark.parametrize(("count", "batches"), [(1000, 10), (1001, 11)])
def test_a_range_takes_a_request_for_each_batch_and_no_other(count: int, batches: int) -> None:
    cluster, _, reader = written([b"x"] * count, config=ClientConfig(batch_read_count=100))
    assert len(cluster.result(reader.read(0, count - 1))) == count
    cluster.network.run()
    assert len(requests(cluster, "batch")) == batches
    assert requests(cluster, "read") == []


@pytest.mark.parametrize("take", ["closes", "bad request", "bad version"])
def test_a_bookie_without_batch_read_is_probed_once_and_found_again(take: str) -> None:
    cluster, _, reader = written([b"x"] * 40)
    for bookie in cluster.bookies.values():
        bookie.batch = take
    for _ in range(3):
        assert len(cluster.result(reader.read(0, 39))) == 40
    probes = requests(cluster, "batch")
    assert len(probes) <= 3
    assert all(each.endswith(" own") for each in probes)
    with pytest.raises(BatchReadNotSupported):
        cluster.result(reader.read_batch(0, fallback=False))
    for bookie in cluster.bookies.values():
        bookie.batch = "serves"
        bookie.requests.clear()
    assert len(cluster.result(reader.read_batch(0))) == 40
    cluster.clock.advance(301)
    assert len(cluster.result(reader.read_batch(0, fallback=False))) == 40
    cluster.result(reader.read_batch(0))
    batches = requests(cluster, "batch")
    assert [each.endswith(" own") for each in batches] == [True, False]


def test_a_probe_fails_no_other_request() -> None:
    cluster, client, reader = written([b"x"] * 40, (1, 1, 1))
    writer = cluster.result(client.create_ledger(1, 1, 1))
    for bookie in cluster.bookies.values():
        bookie.batch = "closes"
    appended = [writer.append(b"y") for _ in range(200)]
    piece = reader.read_batch(0)
    cluster.network.run()
    assert [each.result for each in appended] == list(range(200))
    assert len(piece.result) == 40
    assert len(writer.metadata.fragments) == 1


def test_many_readers_share_one_probe() -> None:
    cluster, _, reader = written([b"x"] * 10, (1, 1, 1))
    for bookie in cluster.bookies.values():
        bookie.batch = "closes"
    reads = [reader.read_batch(0) for _ in range(5)]
    cluster.network.run()
    assert [len(each.result) for each in reads] == [10] * 5
    assert len(requests(cluster, "batch")) == 1


def test_a_bookie_that_is_down_is_not_taken_for_an_old_one() -> None:
    cluster, _, reader = written([b"x"] * 10, (1, 1, 1))
    bookie = cluster.bookies[reader.metadata.last_fragment.ensemble[0]]
    bookie.down = True
    with pytest.raises(BookieUnavailable):
        cluster.result(reader.read_batch(0))
    bookie.down = False
    assert len(cluster.result(reader.read_batch(0, fallback=False))) == 10


def test_a_bookie_that_never_saw_the_probe_is_not_taken_for_an_old_one() -> None:
    cluster, _, reader = written([b"x"] * 10, (1, 1, 1))
    bookie = cluster.bookies[reader.metadata.last_fragment.ensemble[0]]
    bookie.own_refused = True
    reads = [reader.read_batch(0) for _ in range(3)]
    cluster.network.run()
    assert [len(each.result) for each in reads] == [10] * 3
    with pytest.raises(BatchReadNotSupported, match="could not be asked"):
        cluster.result(reader.read_batch(0, fallback=False))
    bookie.own_refused = False
    assert len(cluster.result(reader.read_batch(0, fallback=False))) == 10


def test_a_bookie_that_was_replaced_by_an_old_one_does_harm_once() -> None:
    cluster, _, reader = written([b"x"] * 10, (1, 1, 1))
    assert len(cluster.result(reader.read_batch(0))) == 10
    for bookie in cluster.bookies.values():
        bookie.batch = "closes"
    with pytest.raises(BookieUnavailable):
        cluster.result(reader.read_batch(0))
    assert len(cluster.result(reader.read_batch(0))) == 10
    assert requests(cluster, "batch")[-1].endswith(" own")


@pytest.mark.parametrize("take", ["closes", "bad request", "bad version"])
def test_behind_another_connection_a_bookie_may_be_an_old_one(take: str) -> None:
    cluster, _, reader = written([b"x"] * 10, (1, 1, 1))
    assert len(cluster.result(reader.read_batch(0))) == 10
    for bookie in cluster.bookies.values():
        bookie.interruptions, bookie.batch = 1, take
    for _ in range(2):
        assert len(cluster.result(reader.read_batch(0))) == 10
    assert [each.endswith(" own") for each in requests(cluster, "batch")] == [True, True]


def test_bad_request_from_a_bookie_that_serves_batches_is_a_read_error() -> None:
    cluster, _, reader = written([b"x"] * 10)
    cluster.result(reader.read_batch(0))
    served = [each for each, bookie in cluster.bookies.items() if bookie.requests]
    assert len(served) == 1
    cluster.bookies[served[0]].batch = "bad request"
    assert len(cluster.result(reader.read_batch(0, fallback=False))) == 10


@pytest.mark.parametrize("protocol", ["v2", "v3"])
def test_entries_past_the_end_are_never_returned(protocol: str) -> None:
    """S15: a bookie may store and send entries past the end."""
    cluster, _, reader = written([b"x"] * 3, config=ClientConfig(protocol=protocol))
    for bookie in cluster.bookies.values():
        bookie.extensions = frozenset({BATCH_READ_V3})
        for stray in range(3, 6):
            if bookie.ledgers:
                bookie.ledgers[0].entries[stray] = EntryDigest(DigestType.CRC32C, b"").seal(0, stray, 2, 9, b"stray")
    for start in range(3):
        assert cluster.result(reader.read_batch(start, 100)).last_entry_id <= 2
        assert cluster.result(reader.read_batch_unconfirmed(start, 100)).last_entry_id <= 2
    assert all("count 3" in each or "count 2" in each or "count 1" in each for each in requests(cluster, "batch"))


def test_corrupt_entries_give_the_verified_prefix_or_the_next_replica() -> None:
    cluster, _, reader = written([b"entry %d" % index for index in range(9)])
    first_asked = reader.metadata.last_fragment.ensemble[0]
    damage(cluster, first_asked, 4)
    assert len(cluster.result(reader.read_batch(0))) == 4
    damage(cluster, first_asked, 0)
    assert len(cluster.result(reader.read_batch(0))) == 9
    assert len(cluster.result(reader.read(0, 8))) == 9
    for bookie in reader.metadata.last_fragment.ensemble[1:]:
        damage(cluster, bookie, 0)
    for read in (reader.read_batch(0), reader.read(0, 8), reader.read(0, 8, batch=False), reader.read_entry(0)):
        with pytest.raises(DigestMismatch, match="entry 0 of ledger 0"):
            cluster.result(read)


@pytest.mark.parametrize("fails", [StorageFailed(), NoSuchEntry(), BookieUnavailable()])
def test_batch_and_singles_report_the_same_error(fails: BookKeeperError) -> None:
    cluster, _, reader = written([b"x"] * 9)
    for bookie in cluster.bookies.values():
        bookie.fails = fails
    for read in (reader.read_batch(0), reader.read(0, 8), reader.read(0, 8, batch=False), reader.read_entry(0)):
        with pytest.raises(type(fails)):
            cluster.result(read)


def test_a_batch_ends_with_its_fragment_and_a_read_goes_on() -> None:
    cluster = Cluster()
    client = cluster.client()
    writer = cluster.result(client.create_ledger(3, 3, 2))
    cluster.result(writer.append_many([b"x"] * 5))
    cluster.network.run()
    cluster.bookies[writer.metadata.last_fragment.ensemble[0]].down = True
    cluster.result(writer.append_many([b"y"] * 5))
    cluster.network.run()
    cluster.result(writer.close())
    reader = cluster.result(client.open_ledger(writer.ledger_id))
    assert [each.first_entry_id for each in reader.metadata.fragments] == [0, 5]
    assert len(cluster.result(reader.read_batch(2))) == 3
    assert cluster.result(reader.read(0, 9)).payloads == [b"x"] * 5 + [b"y"] * 5


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((-1,), "start_entry_id -1"),
        ((0, -1), "max_count -1"),
        ((0, 0, -5), "max_size -5"),
        ((9,), "start_entry_id 9"),
        (("0",), "start_entry_id '0'"),
    ],
)
@pytest.mark.parametrize("enabled", [True, False])
def test_arguments_are_checked(arguments: tuple[Any, ...], text: str, enabled: bool) -> None:
    cluster, _, reader = written([b"x"] * 9, config=ClientConfig(batch_read_enabled=enabled))
    with pytest.raises(InvalidArgument, match=text):
        cluster.result(reader.read_batch(*arguments))
    for first, last, name in ((-1, 3, "first_entry_id -1"), (3, 2, "last_entry_id 2"), (0, 9, "last_entry_id 9")):
        with pytest.raises(InvalidArgument, match=name):
            cluster.result(reader.read(first, last))


def test_no_limit_is_the_frame_limit_on_the_wire() -> None:
    cluster, _, reader = written([b"x"] * 9)
    cluster.result(reader.read_batch(0))
    cluster.result(reader.read_batch(0, 5, 10**9))
    assert [each.partition("count ")[2] for each in requests(cluster, "batch")] == [
        "9 size 5242880 own",
        "5 size 5242880",
    ]


@pytest.mark.parametrize(
    ("sizes", "enabled", "text"), [((3, 2, 2), True, "striped"), ((3, 3, 2), False, "switched off")]
)
def test_where_no_batch_can_be_had_the_style_without_fallback_says_why(
    sizes: tuple[int, int, int], enabled: bool, text: str
) -> None:
    cluster, _, reader = written([b"x"] * 9, sizes, ClientConfig(batch_read_enabled=enabled))
    with pytest.raises(BatchReadNotSupported, match=text):
        cluster.result(reader.read_batch(0, fallback=False))
    assert len(cluster.result(reader.read_batch(0))) == 9
    assert requests(cluster, "batch") == []


def test_iterating_owns_its_cursor() -> None:
    payloads = [b"%d" % index for index in range(5000)]
    cluster, _, reader = written(payloads, config=ClientConfig(outstanding_reads_max=64))

    async def collect() -> list[bytes]:
        return [payload async for piece in reader.entries(7) for payload in piece.payloads]

    assert cluster.result(Deferred.fromCoroutine(collect())) == payloads[7:]


# V3: an extension of ours, so bookies say whether they have it --------------------------------------------------------

V3 = ClientConfig(protocol="v3")


def written_v3(extensions: frozenset[str] | None) -> tuple[Cluster, BookKeeper, LedgerReader]:
    cluster, client, reader = written([b"a", b"b", b"c"], config=V3)
    for bookie in cluster.bookies.values():
        bookie.extensions = extensions
    return cluster, client, reader


def test_v3_batches_go_to_bookies_that_publish_them_without_a_probe() -> None:
    cluster, _, reader = written_v3(frozenset({"batch-read-v3"}))
    for _ in range(2):
        assert cluster.result(reader.read_batch(0, fallback=False)).payloads == [b"a", b"b", b"c"]
    assert len(requests(cluster, "batch")) == 2
    assert not [each for each in requests(cluster, "batch") if "own" in each]


def test_v3_batches_are_not_sent_to_bookies_that_publish_something_else() -> None:
    cluster, _, reader = written_v3(frozenset({"tls"}))
    assert cluster.result(reader.read(0, 2)).payloads == [b"a", b"b", b"c"]
    assert requests(cluster, "batch") == []
    with pytest.raises(BatchReadNotSupported):
        cluster.result(reader.read_batch(0, fallback=False))


@pytest.mark.parametrize("take", HOW_BOOKIES_TAKE_IT)
def test_a_bookie_that_publishes_nothing_is_probed_in_v3_as_in_v2(take: str) -> None:
    cluster, _, reader = written_v3(None)
    for bookie in cluster.bookies.values():
        bookie.batch = take
    for _ in range(2):
        assert cluster.result(reader.read(0, 2)).payloads == [b"a", b"b", b"c"]
    assert [("own" in each) for each in requests(cluster, "batch")] == ([True, False] if take == "serves" else [True])


def test_a_bookie_of_another_release_may_publish_less_in_v3() -> None:
    cluster, _, reader = written_v3(frozenset({"batch-read-v3"}))
    cluster.result(reader.read_batch(0, fallback=False))
    sent = len(requests(cluster, "batch"))
    for bookie in cluster.bookies.values():
        bookie.interruptions, bookie.extensions, bookie.batch = 1, frozenset(), "bad request"
    assert cluster.result(reader.read(0, 2)).payloads == [b"a", b"b", b"c"]
    assert len(requests(cluster, "batch")) == sent


def test_a_bookie_that_publishes_more_than_it_can_is_remembered() -> None:
    cluster, _, reader = written_v3(frozenset({"batch-read-v3"}))
    for bookie in cluster.bookies.values():
        bookie.batch = "bad request"
    for _ in range(3):
        assert cluster.result(reader.read(0, 2)).payloads == [b"a", b"b", b"c"]
    assert len(requests(cluster, "batch")) == 1


@pytest.mark.parametrize("extensions", [frozenset({"batch-read-v3"}), None], ids=["published", "probed"])
@pytest.mark.parametrize("served", [True, False], ids=["known", "unknown"])
def test_an_entry_that_is_too_large_for_a_batch_is_read_by_itself(
    served: bool, extensions: frozenset[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the frame that a single entry fits a batch takes more for itself; the bookie says that it is a bad request."""
    cluster, _, reader = written_v3(extensions)
    if served:
        for first in range(3):
            cluster.result(reader.read_batch(first, max_count=1, fallback=False))

    batch_read = PuppetBookie.batch_read

    def refuse_large(bookie: PuppetBookie, ledger_id: int, start: int, max_count: int, max_size: int) -> Any:
        if start == 1:
            raise BadRequest
        return batch_read(bookie, ledger_id, start, 1, max_size)

    monkeypatch.setattr(PuppetBookie, "batch_read", refuse_large)
    assert cluster.result(reader.read(0, 2)).payloads == [b"a", b"b", b"c"]
    assert cluster.result(reader.read_batch(1)).payloads[0] == b"b"
    if served:
        cluster.clock.advance(reader.context.config.batch_read_capability_expiry_s)
        assert cluster.result(reader.read(1, 2)).payloads == [b"b", b"c"]
        with pytest.raises(BatchReadNotSupported, match="entry 1 on, which is larger than a batch in V3"):
            cluster.result(reader.read_batch(1, fallback=False))


def test_who_served_batches_serves_them_still_while_nobody_can_tell() -> None:
    cluster, client, reader = written_v3(frozenset({"batch-read-v3"}))
    cluster.result(reader.read_batch(0, fallback=False))
    cluster.clock.advance(client.config.batch_read_capability_expiry_s)
    reading = reader.read_batch(0, fallback=False)
    cluster.network.lose(cluster.network.find("store info"))
    assert cluster.result(reading).payloads == [b"a", b"b", b"c"]


@pytest.mark.parametrize("silent", [True, False])
def test_while_nobody_can_tell_what_a_bookie_can_it_is_probed(silent: bool) -> None:
    cluster, _, reader = written_v3(frozenset({"batch-read-v3"}))
    reading = reader.read(0, 2)
    if silent:
        cluster.clock.advance(PATIENCE_S)
    else:
        cluster.network.lose(cluster.network.find("store info"))
    assert cluster.result(reading).payloads == [b"a", b"b", b"c"]
    assert [each.rpartition(" ")[2] for each in requests(cluster, "batch")] == ["own"]
    reading = reader.read(0, 2)
    assert not any("store info" in each.text for each in cluster.network.messages)
    assert cluster.result(reading).payloads == [b"a", b"b", b"c"]


@pytest.mark.parametrize("sizes", [(3, 3, 2), (3, 2, 2)])
@pytest.mark.parametrize("enabled", [True, False])
def test_a_fast_failing_read_passes_over_bookies_that_take_nothing(sizes: tuple[int, int, int], enabled: bool) -> None:
    cluster, client, reader = written([b"one", b"two"], sizes, ClientConfig(batch_read_enabled=enabled))
    stored = sorted(cluster.holders(0, 0) & cluster.holders(0, 1))
    for each in cluster.bookies.values():
        each.congested = each.bookie_id != stored[0]
    found = [cluster.result(reader.read_batch(0, allow_fast_fail=True)) for _ in range(2)]
    assert {entries.first_entry_id for entries in found} == {0}
    assert {each for each, bookie in cluster.bookies.items() if bookie.requests} == {stored[0]}
    assert not client._context.bookies.quarantined, "they have not failed"

    cluster.bookies[stored[0]].congested = True
    for read in (reader.read_batch, reader.read_batch_unconfirmed):
        with pytest.raises(TooManyRequests, match=r"entry 0 of ledger 0 on bookie b.*: not asked"):
            cluster.result(read(0, allow_fast_fail=True))
    assert cluster.result(reader.read_batch(0)).payloads[0] == b"one"


@pytest.mark.parametrize("absent", [True, False])
def test_a_fast_failing_read_does_not_call_an_entry_lost_that_a_bookie_left_out_may_have(absent: bool) -> None:
    cluster, _, reader = written([b"one"], (2, 2, 2))
    first, second = reader.metadata.last_fragment.ensemble
    del cluster.bookies[first if absent else second].ledgers[0].entries[0]
    cluster.bookies[second if absent else first].congested = True
    with pytest.raises(TooManyRequests):
        cluster.result(reader.read_batch(0, allow_fast_fail=True))


class TestWaitingFirst:
    """A batch read that waits for the last add confirmed."""

    def read(self, tailed: Tailed, start: int, previous: Any, **arguments: Any) -> list[Any]:
        arguments = {"timeout_s": 60, **arguments}
        reading = tailed.reader.read_batch(start, previous_last_add_confirmed=previous, **arguments)
        return tailed.outcome(reading)

    @pytest.mark.parametrize("sizes", [(3, 3, 2), (3, 2, 2)])
    def test_it_brings_what_was_confirmed_meanwhile(self, sizes: tuple[int, int, int]) -> None:
        tailed = Tailed(sizes)
        last = tailed.reader.last_add_confirmed
        found = self.read(tailed, last + 1, last)
        tailed.advance(5)
        assert found == []
        tailed.append(3)
        tailed.advance(5)
        assert found[0].payloads == [b"entry %d" % each for each in range(last + 1, last + 1 + len(found[0]))]
        assert len(found[0]) >= 1

    def test_it_does_not_wait_for_what_is_known(self) -> None:
        tailed = Tailed()
        [found] = self.read(tailed, 0, -1)
        assert found.payloads == [b"entry 0", b"entry 1"]
        assert tailed.polls() == []
        for bookie in tailed.cluster.bookies.values():
            bookie.congested = True
        [error] = self.read(tailed, 0, -1, allow_fast_fail=True)
        assert isinstance(error, TooManyRequests)

    @pytest.mark.parametrize("allow_fast_fail", [True, False])
    def test_it_is_empty_when_the_time_is_over(self, allow_fast_fail: bool) -> None:
        tailed = Tailed()
        found = self.read(tailed, 2, 1, timeout_s=3, allow_fast_fail=allow_fast_fail)
        tailed.advance(2.5)
        assert found == []
        tailed.advance(1)
        [entries] = found
        assert (len(entries), entries.payloads, entries.first_entry_id, list(entries)) == (0, [], 2, [])
        tailed.assert_nothing_is_left()

    def test_it_is_empty_past_the_end_of_a_closed_ledger(self) -> None:
        tailed = Tailed()
        found = self.read(tailed, 3, 2)
        tailed.cluster.result(tailed.writer.close())
        tailed.advance(1)
        assert [len(each) for each in found] == [0]
        assert tailed.reader.closed
        assert [len(each) for each in self.read(tailed, 3, 2)] == [0]

    def test_it_is_empty_when_the_start_is_beyond_what_has_come(self) -> None:
        tailed = Tailed()
        assert [len(each) for each in self.read(tailed, 7, 0)] == [0]

    @pytest.mark.parametrize(
        ("arguments", "error", "text"),
        [
            ({"previous": "1"}, InvalidArgument, "previous_last_add_confirmed '1' must be an integer"),
            ({"previous": -2}, InvalidArgument, "previous_last_add_confirmed -2 must be"),
            ({"previous": 1, "timeout_s": 0}, InvalidArgument, "timeout_s 0 must be above 0"),
            ({"previous": 1, "max_count": -1}, InvalidArgument, "max_count -1 must be"),
            ({"previous": 1, "fallback": False}, BatchReadNotSupported, "the ledger is striped"),
        ],
    )
    def test_what_cannot_be_is_refused_before_the_wait(self, arguments: Any, error: type[Exception], text: str) -> None:
        tailed = Tailed((3, 2, 2))
        [found] = self.read(tailed, 2, **arguments)
        assert isinstance(found, error)
        assert text in str(found)

    def test_a_cancelled_one_keeps_nothing(self) -> None:
        tailed = Tailed()
        reading = tailed.reader.read_batch(2, previous_last_add_confirmed=1)
        found = tailed.outcome(reading)
        reading.cancel()
        assert len(found) == 1
        tailed.cluster.network.run()
        tailed.assert_nothing_is_left()
