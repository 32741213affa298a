"""Clients that stop in the handshake, send too much, or do not read, at a bookie with TLS and passwords."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bookkeeper_tx.testing.local_cluster import LocalCluster
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import V3Operation
from tests.integration.support.our_client import OurClient, append
from tests.integration.support.security import Secrets

START_TLS = bytes.fromhex("0000000b0a06080310091805d20600")
TOO_LONG = (1 << 20).to_bytes(4, "big")
HALF_A_CLIENT_HELLO = bytes.fromhex("160301020001")
ENTRIES, ENTRY_SIZE = 24, 1_000_000


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Secrets:
    return Secrets.make(tmp_path_factory.mktemp("secrets"))


def connected(cluster: LocalCluster, *said: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", cluster.bookies[0].port), timeout=60)
    for data in said:
        connection.sendall(data)
    return connection


def closed_by_the_bookie(connection: socket.socket) -> bool:
    try:
        while connection.recv(4096):
            pass
    except ConnectionError:
        pass
    return True


def secured_cluster(directory: Path, secrets: Secrets, handshake_timeout_ms: int) -> LocalCluster:
    settings = {**secrets.bookie_tls(), **secrets.bookie_sasl, **secrets.jaas}
    return LocalCluster(directory, 1, settings={**settings, "handshakeTimeoutMs": handshake_timeout_ms})


@pytest.fixture(scope="module")
def cluster(secrets: Secrets, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with secured_cluster(tmp_path_factory.mktemp("cluster"), secrets, 2000) as cluster:
        yield cluster


@pytest.mark.parametrize(
    "said",
    [(), (b"\0",), (TOO_LONG,), (START_TLS,), (START_TLS + START_TLS,)],
    ids=["nothing", "one byte", "a long frame", "START_TLS", "START_TLS twice"],
)
def test_nobody_stays_who_goes_no_further(cluster: LocalCluster, said: tuple[bytes, ...]) -> None:
    with connected(cluster, *said) as connection:
        assert closed_by_the_bookie(connection)


def test_nor_in_the_middle_of_a_tls_handshake(cluster: LocalCluster) -> None:
    with connected(cluster, START_TLS) as connection:
        assert connection.recv(100)
        connection.sendall(HALF_A_CLIENT_HELLO)
        assert closed_by_the_bookie(connection)


def test_those_who_are_through_are_served_all_the_same(tmp_path: Path, secrets: Secrets) -> None:
    cluster = secured_cluster(tmp_path, secrets, 12_000)  # limit of the correct client, too, which comes last
    with cluster, ExitStack() as connections:
        idle = [connections.enter_context(connected(cluster, START_TLS)) for _ in range(50)]
        serves_behind(idle, cluster, secrets)


def serves_behind(idle: list[socket.socket], cluster: LocalCluster, secrets: Secrets) -> None:
    with OurClient(cluster.metadata_uri, tls=secrets.client_tls(), auth=secrets.client_sasl) as client:
        writer = client.create_ledger()
        assert append(writer, [b"x"]) == [0]
        assert all(closed_by_the_bookie(each) for each in idle)
        assert append(writer, [b"y"]) == [1], "on the connection that it had"


def read_request(ledger_id: int, entry_id: int) -> bytes:
    header = v3_pb2.PacketHeader(version=3, operation=V3Operation.READ_ENTRY, txn_id=entry_id)
    asked = v3_pb2.ReadRequest(ledger_id=ledger_id, entry_id=entry_id)
    body = v3_pb2.Request(header=header, read_request=asked).SerializeToString()
    return len(body).to_bytes(4, "big") + body


def test_who_reads_late_over_tls_gets_everything_and_nobody_waits(secrets: Secrets, tmp_path: Path) -> None:
    settings = secrets.bookie_tls(tlsClientAuthentication="false")
    with (
        LocalCluster(tmp_path, 1, settings=settings) as cluster,
        OurClient(cluster.metadata_uri, tls=secrets.client_only_tls()) as client,
        inside_tls(cluster, secrets) as late,
    ):
        writer = client.create_ledger()
        payloads = [bytes([index]) * ENTRY_SIZE for index in range(ENTRIES)]
        append(writer, payloads)
        late.sendall(b"".join(read_request(writer.ledger_id, each) for each in range(ENTRIES)))
        append(writer, [b"meanwhile"] * 100)
        file = late.makefile("rb")
        for _ in payloads:
            reply = v3_pb2.Response.FromString(file.read(int.from_bytes(file.read(4), "big")))
            assert reply.read_response.body.endswith(payloads[reply.header.txn_id])


def inside_tls(cluster: LocalCluster, secrets: Secrets) -> ssl.SSLSocket:
    connection = connected(cluster, START_TLS)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    assert connection.recv(100)
    context = ssl.create_default_context(cafile=str(secrets.authority.path))
    return context.wrap_socket(connection, server_hostname="localhost")
