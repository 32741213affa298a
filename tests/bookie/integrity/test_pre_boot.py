"""bookkeeper_tx.bookie.integrity.pre_boot: which ledgers are marked before a wiped bookie serves, and how."""

import pytest

from bookkeeper_tx.entry.digest import master_key
from bookkeeper_tx.errors import MetadataCorrupt, MetadataUnavailable, StorageFailed, Unauthorized
from bookkeeper_tx.model import Fragment, LedgerMetadata, LedgerState, Versioned
from protocol_specs.ledger_id import join
from tests.bookie.crashing_disk import CrashingDisk
from tests.bookie.integrity.repaired import Repaired
from tests.bookie.seams import KEY, OTHER_KEY
from tests.bookie.storage.storages import index_files_only
from tests.client.puppets import Cluster

pytestmark = pytest.mark.usefixtures("ledger_storage_class")

SCOPED = join(5, 9)
HERE, AWAY = ("b1", "b2"), ("b2", "b3")


def ledger(
    *ensembles: tuple[str, str], state: LedgerState = LedgerState.OPEN, password: bytes | None = b""
) -> Versioned:
    fragments = [Fragment(10 * at, ensemble) for at, ensemble in enumerate(ensembles)]
    metadata = LedgerMetadata(2, 2, 2, fragments, password=password)
    closed = state is LedgerState.CLOSED
    return Versioned(metadata.with_close(19, 0) if closed else metadata.with_state(state), 0)


LEDGERS = {
    1: ledger(HERE),
    2: ledger(HERE, state=LedgerState.IN_RECOVERY),
    3: ledger(HERE, state=LedgerState.CLOSED),
    4: ledger(HERE, AWAY),
    5: ledger(HERE, AWAY, state=LedgerState.CLOSED),
    6: ledger(AWAY),
    7: ledger(AWAY, state=LedgerState.CLOSED),
    SCOPED: ledger(HERE, password=b"secret"),
}
FENCED = {1, 2, 3, 5, SCOPED}


@pytest.fixture
def bookie(disk: CrashingDisk) -> Repaired:
    cluster = Cluster()
    cluster.state.ledgers.update(LEDGERS)
    return Repaired(cluster, disk)


def test_all_ledgers_with_this_bookie_are_in_limbo_durably_and_fenced_if_they_may_have_been(bookie: Repaired) -> None:
    assert bookie.mark() == 6
    bookie.crash()
    assert bookie.storage.limbo.needs_check()
    found = {each: bookie.storage.ledger(each) for each in LEDGERS}
    assert {each for each, ledger in found.items() if ledger is not None and ledger.limbo} == FENCED | {4}
    assert {each for each, ledger in found.items() if ledger is not None and ledger.fenced} == FENCED
    assert [found[6], found[7]] == [None, None]


def test_a_ledger_that_was_deleted_before_the_loss_is_not_marked_and_may_be_begun_anew(bookie: Repaired) -> None:
    del bookie.cluster.state.ledgers[1]
    assert bookie.mark() == 5
    ledger, made = bookie.storage.open_for(1, KEY, ordinary=True)
    assert (made, ledger.limbo, ledger.fenced) == (True, False, False)


def test_ledgers_have_the_key_of_their_metadata(bookie: Repaired) -> None:
    bookie.mark()
    bookie.storage.open_for(SCOPED, master_key(b"secret"))
    with pytest.raises(Unauthorized):
        bookie.storage.open_for(SCOPED, KEY)


def test_where_the_metadata_tell_no_key_the_first_is_taken(bookie: Repaired) -> None:
    bookie.cluster.state.ledgers[1] = ledger(HERE, password=None)
    bookie.mark()
    bookie.storage.open_for(1, KEY)
    with pytest.raises(Unauthorized):
        bookie.storage.open_for(1, OTHER_KEY)


def test_a_ledger_that_is_here_keeps_its_key_and_is_in_limbo(bookie: Repaired) -> None:
    bookie.storage.open_for(SCOPED, OTHER_KEY)
    bookie.mark()
    stored, created = bookie.storage.open_for(SCOPED, OTHER_KEY)
    assert (stored.limbo, stored.fenced, created) == (True, True, False)


def test_a_ledger_whose_metadata_cannot_be_understood_may_be_here(bookie: Repaired) -> None:
    store = bookie.client.metadata
    read = store.read_ledger

    def corrupt(ledger_id: int) -> object:
        if ledger_id == 6:
            raise MetadataCorrupt("bad bytes")
        return read(ledger_id)

    store.read_ledger = corrupt  # type: ignore[method-assign,assignment]
    assert bookie.mark() == 7
    stored = bookie.storage.ledger(6)
    assert stored is not None
    assert stored.limbo


def test_without_the_metadata_store_nothing_counts_as_marked(bookie: Repaired) -> None:
    bookie.cluster.state.away = True
    with pytest.raises(MetadataUnavailable):
        bookie.mark()
    assert bookie.storage.limbo.needs_check()


@index_files_only
def test_a_ledger_whose_index_is_damaged_cannot_be_marked_until_that_is_moved_away(bookie: Repaired) -> None:
    bookie.mark()
    path = bookie.storage.indexes.path(1)
    bookie.disk.open(path, writable=True).write(bytes(1024), 0)
    bookie.open()
    with pytest.raises(StorageFailed, match=rf"(?s)ledger 1 may .* index {path} is damaged, .*; or move that"):
        bookie.mark()
    bookie.disk.remove(path)
    bookie.open()
    assert bookie.mark() == 6
