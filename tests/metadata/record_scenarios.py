"""The contract of every metadata store for named records: scenarios as contract.py describes them."""

import pytest

from bookkeeper_tx.errors import InvalidArgument, MetadataConflict
from bookkeeper_tx.metadata.named_records import RECORD_SIZE_MAX
from tests.metadata.contract import Cluster, scenario

PATH = ("logs", "orders", "list")


@scenario
async def a_record_is_created_read_changed_and_deleted(cluster: Cluster) -> None:
    store, other = await cluster.open(), await cluster.open()
    await store.initialize()
    assert await other.read_record(PATH) is None
    assert await store.write_record(PATH, b"one", None) == 0
    assert await other.read_record(PATH) == (b"one", 0)
    assert await other.write_record(PATH, b"two", 0) == 1
    assert await store.read_record(PATH) == (b"two", 1)
    await store.delete_record(PATH, 1)
    assert await other.read_record(PATH) is None
    assert await store.write_record(PATH, b"three", None) == 0


@scenario
async def a_record_of_another_version_is_not_changed(cluster: Cluster) -> None:
    store, other = await cluster.open(), await cluster.open()
    await store.initialize()
    for missing in (store.write_record(PATH, b"x", 0), store.delete_record(PATH, 0)):
        with pytest.raises(MetadataConflict, match="logs/orders/list"):
            await missing
    await store.write_record(PATH, b"one", None)
    await store.write_record(PATH, b"two", 0)
    for late in (
        other.write_record(PATH, b"x", None),
        other.write_record(PATH, b"x", 0),
        other.write_record(PATH, b"x", 2),
        other.delete_record(PATH, 0),
    ):
        with pytest.raises(MetadataConflict, match="somebody else"):
            await late
    assert await other.read_record(PATH) == (b"two", 1)


@scenario
async def of_writers_of_one_record_one_wins(cluster: Cluster) -> None:
    store, other = await cluster.open(), await cluster.open()
    await store.initialize()
    for version in (None, 0):
        won = []
        for number, each in enumerate([store, other] * 5):
            try:
                won.append((b"%d" % number, await each.write_record(PATH, b"%d" % number, version)))
            except MetadataConflict:
                pass
        assert len(won) == 1
        assert await store.read_record(PATH) == won[0]


@scenario
async def records_are_listed_by_what_is_below_them(cluster: Cluster) -> None:
    store, other = await cluster.open(), await cluster.open()
    await store.initialize()
    assert await other.list_records(()) == []
    names = ["a/b", ".", "..", "ä € ", "%2F", "B", "10", "9"]
    for name in names:
        await store.write_record(("logs", name, "list"), b"x", None)
    await store.write_record(("other",), b"x", None)
    assert await other.list_records(()) == ["logs", "other"]
    assert await other.list_records(("logs",)) == sorted(names)
    assert await other.list_records(("logs", "a/b")) == ["list"]
    assert await other.list_records(("log",)) == []
    assert await other.read_record(("logs",)) is None
    for name in names[1:]:
        await store.delete_record(("logs", name, "list"), 0)
    assert await other.list_records(("logs",)) == names[:1]
    await store.delete_record(("logs", names[0], "list"), 0)
    assert await other.list_records(()) == ["other"]


@scenario
async def records_have_limits(cluster: Cluster) -> None:
    store = await cluster.open()
    await store.initialize()
    largest = bytes(RECORD_SIZE_MAX)
    await store.write_record(PATH, largest, None)
    assert await store.read_record(PATH) == (largest, 0)
    for path, data in ((PATH, largest + b"x"), (PATH, b""), ((), b"x"), (("a", ""), b"x")):
        with pytest.raises(InvalidArgument):
            await store.write_record(path, data, 0)
