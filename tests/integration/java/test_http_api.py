"""The HTTP API of our bookie beside that of a running Java bookie, request by request."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from bookkeeper_tx.bookie.http.paths import PATHS
from tests.integration.java.http_sides import Side, two_sides
from tests.integration.java.http_table import OUR_OWN, REQUESTS, SAME, SHAPE, Request

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def sides(zookeeper: Any, module_java_targets: Any, tmp_path_factory: Any) -> Iterator[tuple[Side, Side]]:
    with two_sides(zookeeper, module_java_targets, tmp_path_factory.mktemp("ours")) as both:
        yield both


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
