"""The HTTP API of our bookie beside that of a running Java bookie, request by request."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from bookkeeper_tx.bookie.http.paths import PATHS
from bookkeeper_tx.model import DigestType
from compat_tests.targets.java.targets import new_cluster
from compat_tests.targets.lockfile import RELEASES
from compat_tests.targets.ours import RegisteredBookie
from compat_tests.targets.ports import choose_port
from tests.integration.java.http_table import OUR_OWN, REQUESTS, SAME, SHAPE, Request
from tests.integration.support.our_client import wait_for

pytestmark = pytest.mark.java

FLUSHED_SOON = {"flushInterval": 500}


@frozen
class Side:
    """A bookie that answers HTTP."""

    port: int
    bookie_id: str

    def ask(self, request: Request) -> tuple[int, str]:
        """Return status and body, the bookie's own address replaced."""
        data = request.body.encode() if request.body else None
        url = f"http://127.0.0.1:{self.port}{request.path}"
        asked = urllib.request.Request(url, data, method=request.method)
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                status, body = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, body = error.code, error.read()
        return status, body.decode("utf-8").replace(self.bookie_id, "BOOKIE")


async def _fill(client: Any) -> None:
    writer = await client.create_ledger(1, 1, 1, custom_metadata={"a": b"x\0y"})
    other = await client.create_ledger(1, 1, 1, DigestType.CRC32, b"secret")
    await other.append(b"a")
    await other.close()
    await writer.append_many([b"\xff\0\n%d" % index for index in range(3000)])
    for index in range(3):
        await writer.append(b"hello %d" % index)


def fill(uri: str) -> None:
    from tests.integration.support.our_client import make_client

    async def work() -> None:
        async with make_client(uri) as client:
            await _fill(client)

    wait_for(work)


@pytest.fixture(scope="module")
def sides(
    zookeeper: Any, module_java_targets: Any, module_cluster: Any, tmp_path_factory: Any
) -> Iterator[tuple[Side, Side]]:
    """Java's and ours, each in a cluster of its own, with the same ledgers."""
    java = module_java_targets.bookie(RELEASES[-1], http_port=choose_port(), settings=FLUSHED_SOON)
    cluster, folder, port = new_cluster(zookeeper), Path(tmp_path_factory.mktemp("ours")), choose_port()
    settings = {"httpServerEnabled": "true", "httpServerPort": port, "diskUsageThreshold": 0.99, **FLUSHED_SOON}
    ours = RegisteredBookie(cluster, folder, settings=settings)
    ours.start()
    try:
        for uri in (module_cluster.uri, cluster.uri):
            fill(uri)
        yield Side(java.http_port, java.bookie_id), Side(port, ours.bookie_id)
    finally:
        ours.stop()


@pytest.mark.parametrize("part", REQUESTS)
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
