"""What a bookie reads of others, it reads with TLS and the password of its file.

That is what its own disk has lost, and what its HTTP API is asked for.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bookkeeper_tx.testing.local_cluster import LocalCluster
from compat_tests.targets.ports import choose_port
from tests.integration.process.test_bookie_http import asked
from tests.integration.process.test_wiped_bookie import SETTINGS, is_whole, payloads, wipe
from tests.integration.support.our_client import OurClient, append_and_close, poll, read
from tests.integration.support.security import Secrets, fingerprint

pytestmark = pytest.mark.full


@pytest.fixture
def secrets(tmp_path: Path) -> Secrets:
    return Secrets.make(tmp_path / "secrets")


@pytest.fixture
def cluster(tmp_path: Path, secrets: Secrets) -> Iterator[LocalCluster]:
    settings = {**SETTINGS, **secrets.bookie_tls(), **secrets.bookie_as_client, **secrets.bookie_sasl, **secrets.jaas}
    with LocalCluster(tmp_path / "cluster", 3, settings=settings) as cluster:
        yield cluster


def test_a_wiped_bookie_copies_from_bookies_that_want_certificate_and_password(
    cluster: LocalCluster, secrets: Secrets
) -> None:
    with OurClient(cluster.metadata_uri, tls=secrets.client_tls(), auth=secrets.client_sasl) as client:
        ledger_id = append_and_close(client.create_ledger(3, 3, 2), payloads(600))
        bookie = cluster.bookies[0]
        wipe(bookie)
        cluster.restart(0)
        assert poll(lambda: is_whole(bookie)), bookie.log_end()
        assert any(fingerprint(secrets.bookie) in each.log for each in cluster.bookies[1:])
        for index in (1, 2):
            cluster.stop_bookie(index)
        assert read(client.open_ledger(ledger_id), 0, 599) == payloads(600)


def test_http_asks_bookies_that_want_certificate_and_password(cluster: LocalCluster, secrets: Secrets) -> None:
    port = choose_port()
    cluster.add_bookie(settings={"httpServerEnabled": "true", "httpServerPort": port})
    with OurClient(cluster.metadata_uri, tls=secrets.client_tls(), auth=secrets.client_sasl) as client:
        ledger_id = append_and_close(client.create_ledger(3, 3, 2), payloads(3))
    status, sane = asked(port, "/api/v1/bookie/sanity")
    assert (status, json.loads(sane)) == (200, {"passed": True, "readOnly": False})
    status, entries = asked(port, f"/api/v1/ledger/read?ledger_id={ledger_id}")
    assert (status, list(json.loads(entries))) == (200, ["0", "1", "2"])
    status, sizes = asked(port, "/api/v1/bookie/list_bookie_info")
    assert (status, len(json.loads(sizes))) == (200, 5), "four bookies and their sum"
