"""The writer's handle over simulated bookies."""

from tests.client.puppets import Cluster


def test_appends_and_reads_back() -> None:
    cluster = Cluster()
    client = cluster.client()
    writer = cluster.result(client.create_ledger(3, 3, 2))
    ids = [writer.append(b"entry %d" % index) for index in range(10)]
    assert [cluster.result(each) for each in ids] == list(range(10))
    assert cluster.result(writer.append_many([b"x", b"yy"])) == range(10, 12)
    cluster.result(writer.close())
    reader = cluster.result(client.open_ledger(writer.ledger_id))
    assert reader.closed
    assert reader.last_add_confirmed == 11
    assert cluster.result(reader.read(0, 11)).payloads[9:] == [b"entry 9", b"x", b"yy"]
