"""The HTTP API of ``twistd bookie`` as a process: what those who start it are told."""

import json
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from bookkeeper_tx import blocking
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.testing.local_cluster import LocalCluster
from compat_tests.targets.cluster import Cluster
from compat_tests.targets.ports import choose_port
from compat_tests.targets.twistd_bookie import TwistdBookie

NO_ANSWER = 0
PATIENCE_S = 60.0


def asked(port: int, path: str) -> tuple[int, str]:
    """Return status and body; NO_ANSWER if nobody listens."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return NO_ANSWER, ""


@pytest.mark.java
def test_it_is_ready_when_clients_are_served_and_not_before(cluster: Cluster, tmp_path: Path) -> None:
    """A killed bookie stays registered until its session ends; until then the next start is seen by nobody."""
    port = choose_port()
    settings = {"httpServerEnabled": "true", "httpServerPort": port, "zkTimeout": 4000}
    bookie = TwistdBookie(cluster.uri, tmp_path, settings=settings)
    bookie.start()
    assert asked(port, "/api/v1/bookie/is_ready") == (200, "OK")
    bookie.kill()
    bookie.process.start()
    seen = []
    states = []
    deadline = time.monotonic() + PATIENCE_S
    try:
        while 200 not in seen and time.monotonic() < deadline:
            states.append(asked(port, "/api/v1/bookie/state"))
            seen.append(asked(port, "/api/v1/bookie/is_ready")[0])
            time.sleep(0.05)
    finally:
        bookie.stop()
    assert [status for status in dict.fromkeys(seen) if status != NO_ANSWER] == [503, 200]
    told = [json.loads(body)["running"] for status, body in states if status == 200]
    assert not told[0]
    assert asked(port, "/api/v1/bookie/is_ready")[0] == NO_ANSWER


def test_ledgers_of_a_scope_are_listed_read_and_deleted(tmp_path: Path) -> None:
    port = choose_port()
    settings = {"httpServerEnabled": "true", "httpServerPort": port}
    with (
        LocalCluster(tmp_path, 1, settings=settings) as cluster,
        blocking.BookKeeper(cluster.metadata_uri, ClientConfig(protocol="v3")) as client,
    ):
        writer = client.create_ledger(1, 1, 1, scope_id=9, ledger_id=-5)
        writer.append(b"hello")
        writer.close()
        query = "ledger_id=-5&ledger_scope_id=9"
        assert json.loads(asked(port, "/api/v1/ledger/list")[1]) == {}
        assert json.loads(asked(port, "/api/v1/ledger/list?ledger_scope_id=9")[1]) == {"-5": None}
        metadata = json.loads(asked(port, f"/api/v1/ledger/metadata?{query}")[1])["-5"]
        assert (metadata["ledgerScopeId"], metadata["lastEntryId"]) == (9, 0)
        assert json.loads(asked(port, f"/api/v1/ledger/read?{query}")[1]) == {"0": "hello"}
        delete = urllib.request.Request(f"http://127.0.0.1:{port}/api/v1/ledger/delete?{query}", method="DELETE")
        with urllib.request.urlopen(delete, timeout=10) as answer:
            assert json.load(answer) == "Deleted ledger: -5"
        assert json.loads(asked(port, "/api/v1/ledger/list?ledger_scope_id=9")[1]) == {}
