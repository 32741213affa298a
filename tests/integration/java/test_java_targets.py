"""Every locked release: its bookie starts on our ZooKeeper set-up, and its client writes to it and reads from it."""

from __future__ import annotations

import pytest

from compat_tests.targets.java.client import JavaError
from compat_tests.targets.lockfile import release_number
from compat_tests.targets.payloads import hash_of, pattern, patterns
from compat_tests.targets.zookeeper import ZooKeeper
from tests.integration.support.our_client import poll

_FENCED = -101
_NO_SUCH_LEDGER = (-7, -25)  # the second from 4.10, when the store itself has no such ledger

pytestmark = [pytest.mark.java, pytest.mark.full]


@pytest.mark.releases(main=True)
@pytest.mark.parametrize("protocol", ["v2", "v3"])
def test_client_writes_reads_and_fences(java_release, protocol, java_bookie, java_client):
    java_bookie(java_release)
    client = java_client(java_release, v2=protocol == "v2")
    writer = client.create_ledger(password=b"secret", custom={"k": b"\0v"})
    appended = writer.append_many(300, 100, seed=7)
    assert (appended.first, appended.last, appended.acknowledged) == (0, 299, 300)
    assert writer.append(b"last") == 300
    assert writer.read(298, 300) == [pattern(298, 100, 7), pattern(299, 100, 7), b"last"]

    reader = client.open_ledger(writer.ledger_id, password=b"secret")
    assert reader.opened_at == 300
    assert reader.read_hash(0, 299) == (300, hash_of(patterns(300, 100, seed=7)))
    with pytest.raises(JavaError) as fenced:
        writer.append(b"too late")
    assert fenced.value.code == _FENCED

    metadata = client.metadata(writer.ledger_id)
    assert (metadata.state, metadata.last_entry, metadata.length) == ("CLOSED", 300, 300 * 100 + 4)
    assert metadata.custom == {"k": b"\0v"}
    client.delete_ledger(writer.ledger_id)
    with pytest.raises(JavaError) as gone:
        client.open_ledger(writer.ledger_id, password=b"secret")
    assert gone.value.code in _NO_SUCH_LEDGER


def test_batch_read_is_there_from_4_17(java_release, java_bookie, java_client):
    java_bookie(java_release)
    ledger = java_client(java_release, v2=True).create_ledger()
    ledger.append_many(50, 10)
    if release_number(java_release) < (4, 17):
        with pytest.raises(JavaError, match="Unsupported"):
            ledger.batch_read(0, 20)
    else:
        assert ledger.batch_read(5, 20) == patterns(50, 10)[5:25]


def test_a_bookie_that_was_just_started_is_stopped_in_order(java_release, java_bookie):
    bookie = java_bookie(java_release)
    for _ in range(3):
        bookie.stop()
        assert bookie.process.has_said("shutdown hook")
        assert bookie.bookie_id not in bookie.cluster.writable_ids()
        bookie.start()


@pytest.mark.parametrize("storage", ["sorted", "interleaved", "db"])
def test_bookie_keeps_entries_over_kill_and_restart(java_release, storage, java_bookie, java_client):
    bookie = java_bookie(java_release, storage=storage)
    client = java_client(java_release)
    ledger = client.create_ledger()
    ledger.append_many(200, 50)
    ledger.close()
    bookie.kill(expire=True)
    bookie.start()
    assert client.open_ledger(ledger.ledger_id).read_hash(0, 199) == (200, hash_of(patterns(200, 50)))


def test_bookie_starts_on_the_directories_of_an_older_release(java_bookie, java_client):
    old = java_bookie("4.16.6")
    ledger = java_client("4.16.6").create_ledger()
    ledger.append_many(100, 50)
    ledger.close()
    old.stop()
    java_bookie("4.18.0", port=old.port, journal_dir=old.journal_dir, ledger_dir=old.ledger_dir)
    assert java_client("4.18.0", v2=True).open_ledger(ledger.ledger_id).batch_read(0, 100) == patterns(100, 50)


def test_zookeeper_pauses_and_restarts(tmp_path):
    with ZooKeeper(tmp_path) as zookeeper:
        zookeeper.pause()
        assert not zookeeper.serving()
        zookeeper.resume()
        assert poll(zookeeper.serving)
        zookeeper.stop()
        assert not zookeeper.serving()
        zookeeper.start()
        assert zookeeper.serving()
