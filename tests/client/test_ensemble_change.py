"""A bookie fails while a ledger is written: the new fragment, and the entries that its bookies store."""

import pytest

from bookkeeper_tx.errors import (
    AuthenticationFailed,
    AuthenticationUnanswered,
    BookieUnavailable,
    BookKeeperError,
    NotEnoughBookies,
    ReadOnlyBookie,
    RequestTimedOut,
    StorageFailed,
    TooManyRequests,
)
from tests.client.puppets import Cluster
from tests.client.writers import writer_of


@pytest.mark.parametrize(
    "error",
    [
        AuthenticationUnanswered(),
        BookieUnavailable(),
        RequestTimedOut(),
        ReadOnlyBookie(),
        StorageFailed(),
        TooManyRequests(),
    ],
)
def test_a_failing_bookie_is_replaced_and_gets_nothing_more(error: BookKeeperError) -> None:
    cluster = Cluster()
    writer = writer_of(cluster, (3, 3, 3))
    cluster.result(writer.append_many([b"x"] * 5))
    cluster.network.run()
    failing = writer.metadata.last_fragment.ensemble[1]
    cluster.bookies[failing].fails = error
    assert cluster.result(writer.append_many([b"y"] * 5)) == range(5, 10)
    cluster.network.run()
    fragments = cluster.metadata(writer.ledger_id).fragments
    assert [each.first_entry_id for each in fragments] == [0, 5]
    assert fragments[1].ensemble[1] != failing
    assert [fragments[1].ensemble[index] for index in (0, 2)] == [fragments[0].ensemble[index] for index in (0, 2)]
    for entry_id in range(5, 10):
        assert cluster.holders(writer.ledger_id, entry_id) == set(fragments[1].ensemble)
    cluster.result(writer.close())


def test_if_every_bookie_leaves_the_credentials_unanswered_the_error_says_what_that_may_mean() -> None:
    cluster = Cluster()
    writer = writer_of(cluster)
    for bookie in cluster.bookies.values():
        bookie.fails = AuthenticationUnanswered("no answer: they may be wrong")
    with pytest.raises(NotEnoughBookies, match="b4: no answer: they may be wrong; b3: no"):
        cluster.result(writer.append(b"x"))


def test_one_bookie_that_refuses_the_credentials_ends_the_writer() -> None:
    cluster = Cluster()
    writer = writer_of(cluster)
    cluster.bookies[writer.metadata.last_fragment.ensemble[0]].fails = AuthenticationFailed()
    with pytest.raises(AuthenticationFailed):
        cluster.result(writer.append(b"x"))


def test_the_new_fragment_replaces_one_that_starts_at_the_same_entry() -> None:
    cluster = Cluster()
    writer = writer_of(cluster)
    for bookie in writer.metadata.last_fragment.ensemble[:2]:
        cluster.bookies[bookie].down = True
        appended = writer.append(b"x")
        cluster.network.run(until=lambda deferred=appended: deferred.called)
    assert [each.first_entry_id for each in cluster.metadata(writer.ledger_id).fragments] in ([0], [0, 1])
