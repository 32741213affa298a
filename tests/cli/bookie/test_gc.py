"""``bktx bookie gc``, with an HTTP API that is none."""

import http.client
import io
import json
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request

import pytest
from click.testing import CliRunner, Result

from bookkeeper_tx.cli.bookie import gc as module
from bookkeeper_tx.cli.bookie.gc import gc, wait_until_over
from bookkeeper_tx.errors import BadRequest, BookieUnavailable

DETAILS = [{"majorCompactionCounter": 2, "minorCompactionCounter": 3}]


class Api:
    """Answers as a bookie that collects while it is asked ``busy`` times."""

    def __init__(self, busy: int = 0) -> None:
        self.busy = busy
        self.asked: list[tuple[str, str, Any]] = []

    def open(self, request: Request, timeout: float) -> io.BytesIO:
        path = request.full_url.removeprefix("http://b:8080/api/v1/bookie/")
        assert isinstance(request.data, bytes | None)
        self.asked.append((request.get_method(), path, None if request.data is None else json.loads(request.data)))
        if request.data is not None:
            return io.BytesIO(b'"Triggered GC on BookieServer: b:3181"')
        if path == "gc_details":
            return io.BytesIO(json.dumps(DETAILS).encode())
        self.busy -= 1
        return io.BytesIO(json.dumps({"is_in_force_gc": str(self.busy >= 0).lower()}).encode())


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    api = Api()
    monkeypatch.setattr(module, "urlopen", api.open)
    return api


def run(*options: str) -> Result:
    return CliRunner().invoke(gc, ["--http", "b:8080", *options])


@pytest.mark.parametrize(
    ("options", "body"),
    [
        ((), {}),
        (("--major",), {"forceMajor": True}),
        (("--no-major", "--minor"), {"forceMajor": False, "forceMinor": True}),
    ],
)
def test_it_asks_for_what_the_options_name(api: Api, options: tuple[str, ...], body: dict[str, bool]) -> None:
    api.busy = 1
    result = run(*options)
    assert result.exit_code == 0, result.output
    assert api.asked == [("PUT", "gc", body), ("GET", "gc", None), ("GET", "gc_details", None)]
    assert result.stdout.splitlines() == [
        "a collection that was asked for waits or goes on",
        "2 major compactions, 3 minor ones",
    ]


def test_a_look_asks_for_nothing(api: Api) -> None:
    result = run("--status", "--json")
    assert json.loads(result.stdout) == {"collecting": False, "directories": DETAILS}
    assert [method for method, *_ in api.asked] == ["GET", "GET"]
    assert "no compaction: leave out --major" in run("--status", "--minor").stderr


def test_it_waits_for_the_end_if_that_is_wanted(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.busy = 3
    slept: list[float] = []
    monkeypatch.setattr(module.time, "sleep", slept.append)
    assert run("--wait").stdout.startswith("no collection is asked for")
    assert len(slept) == 3
    wait_until_over(lambda path, body: {"is_in_force_gc": "false"}, pytest.fail)


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (
            URLError(ConnectionRefusedError(111, "Connection refused")),
            BookieUnavailable,
            "needs httpServerEnabled=true",
        ),
        (TimeoutError("timed out"), BookieUnavailable, "timed out"),
        (http.client.BadStatusLine("SSH-2.0"), BookieUnavailable, "SSH-2.0"),
        (
            HTTPError("u", 503, "x", {}, io.BytesIO(b"The bookie is stopping\n")),  # type: ignore[arg-type]
            BadRequest,
            "http://b:8080/api/v1/bookie/gc answers 503: The bookie is stopping",
        ),
    ],
)
def test_what_goes_wrong_has_its_name(
    monkeypatch: pytest.MonkeyPatch, error: Exception, kind: type[Exception], text: str
) -> None:
    def fail(request: Request, timeout: float) -> None:
        raise error

    monkeypatch.setattr(module, "urlopen", fail)
    result = run()
    assert isinstance(result.exception, kind)
    assert text in str(result.exception)


def test_who_answers_no_json_is_no_bookie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "urlopen", lambda request, timeout: io.BytesIO(b"<html>"))
    assert isinstance(run().exception, BookieUnavailable)


def test_an_address_that_is_none_has_its_name() -> None:
    result = CliRunner().invoke(gc, ["--http", "no:port:here"])
    assert isinstance(result.exception, BookieUnavailable)
    assert "http://no:port:here/api/v1/bookie/gc" in str(result.exception)
