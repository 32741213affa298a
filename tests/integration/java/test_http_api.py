"""The HTTP API of our bookie beside that of a running Java bookie, request by request."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.bookie.http.paths import PATHS
from bookkeeper_tx.metadata import service_info
from compat_tests.targets.lockfile import RELEASES
from compat_tests.targets.ours import RegisteredBookie
from compat_tests.targets.ports import choose_port
from tests.integration.java.http_sides import CLASSES, Side, fill, two_sides
from tests.integration.java.http_table import BOOKIE, LEDGER, OUR_OWN, REQUESTS, SAME, SHAPE, Request
from tests.integration.support.our_client import poll
from tests.sampling import only

pytestmark = pytest.mark.java


PARTS = [
    *(("sorted", part) for part in REQUESTS),
    ("db", "garbage"),
    *(pytest.param("db", part, marks=pytest.mark.full) for part in REQUESTS if part != "garbage"),
]
"""Storages, and what is asked: with RocksDB it is what only RocksDB has, in the plain run."""


@pytest.fixture(scope="module")
def sorted_sides(zookeeper: Any, module_java_targets: Any, tmp_path_factory: Any) -> Iterator[tuple[Side, Side]]:
    with two_sides(zookeeper, module_java_targets, tmp_path_factory.mktemp("ours"), "sorted") as both:
        yield both


@pytest.fixture(scope="module")
def db_sides(zookeeper: Any, module_java_targets: Any, tmp_path_factory: Any) -> Iterator[tuple[Side, Side]]:
    pytest.importorskip("rocksdict")
    with two_sides(zookeeper, module_java_targets, tmp_path_factory.mktemp("ours"), "db") as both:
        yield both


@pytest.fixture
def sides(request: pytest.FixtureRequest) -> tuple[Side, Side]:
    both: tuple[Side, Side] = request.getfixturevalue(f"{request.param}_sides")
    return both


@pytest.mark.parametrize(("sides", "part"), PARTS, indirect=["sides"])
def test_answers_are_javas(sides: tuple[Side, Side], part: str) -> None:
    java, ours = sides
    differing = []
    for request in REQUESTS[part]:
        theirs, own = java.ask(request), ours.ask(request)
        if compared(theirs, request.alike) != compared(own, request.alike):
            differing.append(f"{request}:\n  Java {theirs}\n  ours {own}")
    assert not differing, "\n".join(differing)


def test_every_endpoint_is_compared() -> None:
    compared_paths = {request.path.partition("?")[0] for requests in REQUESTS.values() for request in requests}
    assert PATHS.keys() <= compared_paths
    assert OUR_OWN.keys() <= PATHS.keys()


@pytest.mark.parametrize("sides", only("sorted", CLASSES), indirect=True)
def test_what_is_each_bookies_own_has_the_same_form(sides: tuple[Side, Side]) -> None:
    for path in OUR_OWN:
        (java_status, theirs), (status, own) = (side.ask(Request(path)) for side in sides)
        assert java_status == status == 200, path
        if path == "/metrics":
            continue
        mine, javas = json.loads(own), json.loads(theirs)
        assert type(mine) is type(javas), path
        if "last_log_mark" in path:
            form = re.compile(r'\{"LastLogMark: Journal Id - \d+\([0-9a-f]+\.txn\)": "Pos - \d+"\}')
            assert all(form.fullmatch(json.dumps(each)) for each in (mine, javas)), (mine, javas)


def compared(answer: tuple[int, str], alike: str) -> Any:
    """Return the part of an answer that is compared."""
    status, body = answer
    if alike == SAME:
        return status, _without_times(_parsed(body))
    if alike == SHAPE:
        return status, _shape(_parsed(body))
    return status


def _parsed(body: str) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body


def _without_times(value: Any) -> Any:
    """Leave out what is drawn by lot or from the clock: the token and the time of a ledger's creation."""
    if isinstance(value, dict):
        return {key: _without_times(each) for key, each in value.items() if key not in ("ctime", "ctoken")}
    return [_without_times(each) for each in value] if isinstance(value, list) else value


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shape(each) for key, each in value.items()}
    return type(value).__name__ if not isinstance(value, list) else [_shape(each) for each in value]


ABOUT_THE_CLUSTER = [
    f"{BOOKIE}/cluster_info",
    f"{BOOKIE}/list_bookies",
    f"{BOOKIE}/list_bookies?type=ro",
    f"{BOOKIE}/list_bookies?print_hostnames=true",
    f"{LEDGER}/list",
    f"{LEDGER}/list?print_metadata=true",
    f"{LEDGER}/list?print_metadata=true&decode_meta=true",
    f"{LEDGER}/metadata?ledger_id=0",
    f"{LEDGER}/read?ledger_id=0&start_entry_id=2990",
]


@pytest.mark.full
def test_in_one_cluster_they_tell_the_same_of_it(java_targets: Any, cluster: Any, tmp_path: Path) -> None:
    recovering = {"autoRecoveryDaemonEnabled": "true", "auditorPeriodicBookieCheckInterval": 1}
    java = java_targets.bookie(RELEASES[-1], http_port=choose_port(), settings=recovering)
    java_targets.bookie(RELEASES[-1]).stop()  # before there are ledgers, so that none lacks a replica
    port = choose_port()
    ours = RegisteredBookie(cluster, tmp_path, settings={"httpServerEnabled": "true", "httpServerPort": port})
    ours.start()
    try:
        fill(cluster.uri)
        sides = (
            Side(java.http_port, java.bookie_id, java.ledger_dir),
            Side(port, ours.bookie_id, tmp_path / "data"),
        )
        assert poll(lambda: '"auditorElected" : true' in sides[0].ask(Request(f"{BOOKIE}/cluster_info"))[1])
        for path in ABOUT_THE_CLUSTER:
            theirs, own = (_parsed(side.ask(Request(path))[1].replace("BOOKIE", side.bookie_id)) for side in sides)
            assert own == theirs, path
        info = json.loads(sides[1].ask(Request(f"{BOOKIE}/cluster_info"))[1])
        counts = "totalBookiesCount", "writableBookiesCount", "unavailableBookiesCount"
        assert [info[name] for name in counts] == [3, 2, 1]
        assert info["auditorElected"]
        registered = [cluster.registration(side.bookie_id) for side in sides]
        both = [service_info.parse(data, "") for data in registered if data]
        assert [each.http[1] for each in both if each.http] == [side.port for side in sides]
    finally:
        ours.stop()
