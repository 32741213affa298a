"""bookkeeper_tx.bookie.http.list_bookies, list_bookie_info, cluster_info: the other bookies of the cluster."""

from typing import Any

import pytest
from twisted.internet.defer import Deferred, fail, succeed

from bookkeeper_tx.bookie.http.list_bookie_info import readable
from bookkeeper_tx.errors import BookieUnavailable
from bookkeeper_tx.model import BookieDisk, BookieServiceInfo
from tests.bookie.http.asked import Asked, FakeClient

BOOKIES = "/api/v1/bookie/list_bookies"


def register(asked: Asked, bookie_id: str, read_only: bool = False) -> None:
    asked.store.register_bookie(bookie_id, BookieServiceInfo(f"host-of-{bookie_id[0]}", 3181), read_only)
    asked.world.wait(1)


def test_writable_and_read_only_bookies_are_listed(asked: Asked) -> None:
    for bookie_id, read_only in (("b:1", False), ("a:1", False), ("c:1", True)):
        register(asked, bookie_id, read_only)
    assert asked.ask(BOOKIES).json == {"a:1": None, "b:1": None}
    assert asked.ask(f"{BOOKIES}?type=ro").json == {"c:1": None}
    assert asked.ask(f"{BOOKIES}?type=rw&print_hostnames=true").json == {"a:1": "host-of-a", "b:1": "host-of-b"}


def test_the_cluster_is_counted(asked: Asked) -> None:
    register(asked, "a:1")
    register(asked, "b:1", read_only=True)
    for bookie_id in ("a:1", "b:1", "c:1"):
        asked.store.write_cookie(bookie_id, b"5\n", None)
    assert asked.ask("/api/v1/bookie/cluster_info").json == {
        "auditorElected": False,
        "auditorId": "",
        "clusterUnderReplicated": False,
        "ledgerReplicationEnabled": True,
        "totalBookiesCount": 3,
        "writableBookiesCount": 1,
        "readonlyBookiesCount": 1,
        "unavailableBookiesCount": 1,
    }


class Informed:
    """A client that knows the disk of one bookie."""

    def bookie_info(self, bookie_id: str) -> Deferred[Any]:
        if bookie_id == "a:1":
            return succeed(BookieDisk(270553174016, 38174248960))
        return fail(BookieUnavailable("it is down"))


def test_the_space_of_those_that_answer_is_told_in_javas_form(asked: Asked) -> None:
    asked.bookie.client = FakeClient(Informed())  # type: ignore[assignment]
    path = "/api/v1/bookie/list_bookie_info"
    assert (asked.ask(path).status, asked.ask(path).text) == (404, "Not found any Bookie info.")
    register(asked, "a:1")
    register(asked, "b:1")
    space = "{Free: 38174248960(38.174GB), Total: 270553174016(270.553GB)}"
    assert asked.ask(path).json == {"a:1": f": {space},", "ClusterInfo: ": space}


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, ""),
        (999, ""),
        (1000, "(1KB)"),
        (1_999_999, "(1.999MB)"),
        (38_174_248_960, "(38.174GB)"),
        (5 * 10**16, "(50000TB)"),
    ],
)
def test_sizes_are_rounded_down(size: int, text: str) -> None:
    assert readable(size) == text
