"""TLS contexts: which side trusts which, usable and unusable files, and changes of the files.  No sockets."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from OpenSSL import SSL
from twisted.internet.task import Clock
from twisted.logger import LogLevel, capturedLogs, formatEvent

from bookkeeper_tx.errors import InvalidConfig, TlsFailed
from bookkeeper_tx.security.tls_config import TlsConfig
from bookkeeper_tx.security.tls_reasons import reason_of
from bookkeeper_tx.transport.tls import ClientTls, ServerTls, is_tls_error
from tests.certificates import Authority, Identity
from tests.cli.bktx_process import environment


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def config(authority: Authority, identity: Identity | None, **fields: Any) -> TlsConfig:
    if identity is not None:
        fields["certificate_path"] = str(identity.certificate_path)
        fields["key_path"] = str(identity.key_path)
        if identity.password_path is not None:
            fields["key_password_path"] = str(identity.password_path)
    return TlsConfig(trust_path=str(authority.path), **fields)


@pytest.fixture
def bookie(authority: Authority) -> TlsConfig:
    return config(authority, authority.issue("bookie"))


@pytest.fixture
def client(authority: Authority) -> TlsConfig:
    return config(authority, None)


def shake(server: ServerTls, client: ClientTls, host: str = "localhost") -> tuple[Any, Any]:
    """Let both talk until both are satisfied; raises SSL.Error, or TlsFailed for the name of the host."""
    ends = [client.creator(host).clientConnectionForTLS(None), server.serverConnectionForTLS(None)]
    ends[0].set_connect_state()
    ends[1].set_accept_state()
    for _ in range(10):
        for one, other in (ends, reversed(ends)):
            try:
                one.do_handshake()
            except SSL.WantReadError:
                pass
            try:
                other.bio_write(one.bio_read(1 << 16))
            except SSL.WantReadError:
                pass
    client.verify(ends[0], host)
    return ends[0], ends[1]


def connect(bookie: TlsConfig, client: TlsConfig, host: str = "localhost") -> tuple[Any, Any]:
    return shake(ServerTls(bookie, Clock()), ClientTls(client, Clock()), host)


def common_name(connection: Any) -> Any:
    """The name in the certificate of the other side."""
    certificate = connection.get_peer_certificate(as_cryptography=True)
    return certificate and certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value


def test_a_client_sees_the_bookies_certificate(bookie: TlsConfig, client: TlsConfig) -> None:
    ours, theirs = connect(bookie, client)
    assert common_name(ours) == "bookie"
    assert common_name(theirs) is None
    assert ours.get_protocol_version_name() == "TLSv1.3"


def test_a_bookie_sees_the_clients_certificate(authority: Authority, bookie: TlsConfig) -> None:
    reader = config(authority, authority.issue("reader", encrypted=True), client_authentication=True)
    _, theirs = connect(evolve(bookie, client_authentication=True), reader)
    assert common_name(theirs) == "reader"


def test_versions_can_be_chosen(bookie: TlsConfig, client: TlsConfig) -> None:
    ours, _ = connect(bookie, evolve(client, protocols=("TLSv1.2",)))
    assert ours.get_protocol_version_name() == "TLSv1.2"
    with pytest.raises(SSL.Error):
        connect(evolve(bookie, protocols=("TLSv1.3",)), evolve(client, protocols=("TLSv1.2",)))
    with pytest.raises(InvalidConfig, match=r"TLSv1\.1"):
        evolve(client, protocols=("TLSv1.1",))


def test_an_expired_certificate_is_refused(authority: Authority, client: TlsConfig) -> None:
    expired = config(authority, authority.issue("old", expired=True))
    with pytest.raises(SSL.Error) as caught:
        connect(expired, client)
    assert is_tls_error(caught.value)
    assert reason_of(caught.value) == "their certificate has expired: renew it there"


def test_a_certificate_of_another_authority_is_refused(tmp_path: Path, bookie: TlsConfig, client: TlsConfig) -> None:
    other = Authority(tmp_path, "other authority")
    with pytest.raises(SSL.Error) as caught:
        connect(bookie, evolve(client, trust_path=str(other.path)))
    assert "from an authority that is not in the trust store" in reason_of(caught.value)
    stranger = config(other, other.issue("stranger"), client_authentication=True)
    trusting = evolve(stranger, trust_path=client.trust_path)
    with pytest.raises(SSL.Error):
        connect(evolve(bookie, client_authentication=True), trusting)


def test_a_client_without_a_certificate_is_refused_where_one_is_asked_for(bookie: TlsConfig, client: TlsConfig) -> None:
    with pytest.raises(SSL.Error) as caught:
        connect(evolve(bookie, client_authentication=True), client)
    assert "they showed none" in reason_of(caught.value)


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_both_sides_say_what_to_do(authority: Authority, bookie: TlsConfig, client: TlsConfig, version: str) -> None:
    expired = config(authority, authority.issue("old", expired=True), client_authentication=True)
    asking = evolve(bookie, client_authentication=True, protocols=(version,))
    for shown, words in (
        (client, ("showed none", "want a certificate")),
        (expired, ("their certificate has expired", "our certificate has expired")),
    ):
        assert [each in said for each, said in zip(words, refusals(asking, shown), strict=True)] == [True, True]


def refusals(bookie: TlsConfig, client: TlsConfig) -> tuple[str, str]:
    """The bookie's reason to refuse a client, and the reason that the client gets."""
    ends = ServerTls(bookie, Clock()).serverConnectionForTLS(None), ClientTls(client, Clock()).creator("localhost")
    server, reader = ends[0], ends[1].clientConnectionForTLS(None)
    server.set_accept_state()
    reader.set_connect_state()
    said = ["", ""]
    for _ in range(10):
        for number, (one, other) in enumerate(((server, reader), (reader, server))):
            try:
                one.recv(1)  # this shakes hands, and takes a refusal after the handshake
            except SSL.WantReadError:
                pass
            except SSL.Error as error:
                said[number] = said[number] or reason_of(error)
            try:
                other.bio_write(one.bio_read(1 << 16))
            except SSL.WantReadError:
                pass
    return said[0], said[1]


@pytest.mark.parametrize("words", ["tls alert certificate required", "tlsv13 alert certificate required"])
def test_the_words_of_any_openssl_are_known(words: str) -> None:
    assert "they want a certificate" in reason_of(SSL.Error([("SSL routines", "", words)]))
    assert reason_of(SSL.Error([("", "", "of no meaning"), ("", "", "")])) == "of no meaning"


@pytest.mark.parametrize(
    ("hosts", "host", "right"),
    [
        (("localhost",), "localhost", True),
        (("127.0.0.1",), "127.0.0.1", True),
        (("elsewhere",), "localhost", False),
        (("localhost",), "127.0.0.1", False),
        (("10.0.0.1",), "127.0.0.1", False),
    ],
)
def test_the_name_of_the_host(authority: Authority, client: TlsConfig, hosts: Any, host: str, right: bool) -> None:
    bookie = config(authority, authority.issue("bookie", hosts))
    connect(bookie, client, host)
    checking = evolve(client, hostname_verification=True)
    if right:
        connect(bookie, checking, host)
    else:
        with pytest.raises(TlsFailed, match=host):
            connect(bookie, checking, host)


# Files ---------------------------------------------------------------------------------------------------------------


def test_files_that_cannot_be_used_are_named(tmp_path: Path, authority: Authority, bookie: TlsConfig) -> None:
    junk = tmp_path / "junk.pem"
    junk.write_text("junk")
    locked = authority.issue("locked", encrypted=True)
    another = authority.issue("another")
    missing = tmp_path / "missing"
    for fault, changed in (
        (missing, {"certificate_path": missing}),
        (junk, {"certificate_path": junk}),
        (junk, {"key_path": junk}),
        (locked.key_path, {"key_path": locked.key_path}),
        (locked.key_path, {"key_path": locked.key_path, "key_password_path": junk}),
        (another.key_path, {"key_path": another.key_path}),
        (junk, {"trust_path": junk, "client_authentication": True}),
        (missing, {"key_password_path": missing}),
    ):
        with pytest.raises(InvalidConfig, match=re.escape(str(fault))):
            ServerTls(
                evolve(bookie, **{key: value if value is True else str(value) for key, value in changed.items()}),
                Clock(),
            )


def test_a_changed_certificate_is_for_new_connections(
    authority: Authority, bookie: TlsConfig, client: TlsConfig
) -> None:
    clock = Clock()
    server = ServerTls(evolve(bookie, refresh_interval_s=60), clock)
    reader = ClientTls(client, clock)
    before, _ = shake(server, reader)
    serial = before.get_peer_certificate().get_serial_number()
    renew(authority)
    clock.advance(59)
    assert shake(server, reader)[0].get_peer_certificate().get_serial_number() == serial, "it is not looked yet"
    clock.advance(1)
    assert shake(server, reader)[0].get_peer_certificate().get_serial_number() != serial
    assert before.get_peer_certificate().get_serial_number() == serial


def test_changed_files_that_cannot_be_used_leave_the_former_ones_in_force(bookie: TlsConfig, client: TlsConfig) -> None:
    clock = Clock()
    server = ServerTls(evolve(bookie, refresh_interval_s=1), clock)
    assert bookie.key_path is not None
    Path(bookie.key_path).write_text("half a k")
    clock.advance(2)
    with capturedLogs() as events:
        shake(server, ClientTls(client, clock))
    assert [bookie.key_path in formatEvent(event) for event in events if event["log_level"] is LogLevel.error] == [True]


def test_half_a_renewal_and_a_file_that_is_away_for_a_moment_change_nothing(
    authority: Authority, bookie: TlsConfig, client: TlsConfig
) -> None:
    clock = Clock()
    server, reader = ServerTls(evolve(bookie, refresh_interval_s=1), clock), ClientTls(client, clock)
    serial = shake(server, reader)[0].get_peer_certificate().get_serial_number()
    certificate, key = Path(str(bookie.certificate_path)), Path(str(bookie.key_path))
    former = key.read_bytes()
    renewed = authority.issue("bookie")
    new_key = key.read_bytes()
    for content in (former, None, new_key[:50]):
        if content is None:
            key.unlink()
        else:
            key.write_bytes(content)
        clock.advance(2)
        assert shake(server, reader)[0].get_peer_certificate().get_serial_number() == serial
    key.write_bytes(new_key)
    clock.advance(2)
    assert shake(server, reader)[0].get_peer_certificate().get_serial_number() == renewed.certificate.serial_number
    assert certificate.exists()


def test_a_change_that_keeps_its_time_is_seen(authority: Authority, bookie: TlsConfig, client: TlsConfig) -> None:
    """As when a changed directory link, or a copy that keeps its times, replaces the files."""
    clock = Clock()
    times = {
        path: (os.stat(path).st_atime_ns, os.stat(path).st_mtime_ns)
        for path in (bookie.certificate_path, bookie.key_path)
        if path
    }
    server, reader = ServerTls(evolve(bookie, refresh_interval_s=1), clock), ClientTls(client, clock)
    for path in times:
        os.rename(path, f"{path}.old")
    renewed = authority.issue("bookie")
    for path, each in times.items():
        os.utime(path, ns=each)
    clock.advance(2)
    assert shake(server, reader)[0].get_peer_certificate().get_serial_number() == renewed.certificate.serial_number


def test_a_key_of_another_kind_is_refused(tmp_path: Path, bookie: TlsConfig) -> None:
    """OpenSSL keeps a certificate and a key of each type, side by side."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    path = tmp_path / "rsa.key"
    form, encoding = serialization.PrivateFormat.PKCS8, serialization.Encoding.PEM
    path.write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))
    with pytest.raises(InvalidConfig, match=re.escape(str(path))):
        ServerTls(evolve(bookie, key_path=str(path)), Clock())


def test_without_an_interval_files_are_read_once(authority: Authority, bookie: TlsConfig, client: TlsConfig) -> None:
    clock = Clock()
    server = ServerTls(bookie, clock)
    serial = shake(server, ClientTls(client, clock))[0].get_peer_certificate().get_serial_number()
    renew(authority)
    clock.advance(1e6)
    assert shake(server, ClientTls(client, clock))[0].get_peer_certificate().get_serial_number() == serial


def renew(authority: Authority) -> None:
    renewed = authority.issue("bookie")
    for path in (renewed.certificate_path, renewed.key_path):
        # A new time, even if the clock of the file system is coarse.
        os.utime(path, (2**31, 2**31))


def test_what_does_not_go_together() -> None:
    for fields in (
        {},
        {"certificate_path": "c"},
        {"key_path": "k", "trust_path": "t"},
        {"trust_path": "t", "client_authentication": True},
        {"certificate_path": "c", "key_path": "k", "client_authentication": True},
    ):
        with pytest.raises(InvalidConfig):
            TlsConfig(**fields)  # type: ignore[arg-type]


def test_a_file_that_is_not_there_is_named_and_why(client: TlsConfig) -> None:
    with pytest.raises(InvalidConfig, match=r"nothere\.pem cannot be used: [^;]"):
        ClientTls(evolve(client, trust_path="nothere.pem"), Clock())


def test_without_pyopenssl_it_is_said_what_to_install() -> None:
    program = "import sys; sys.modules['OpenSSL'] = None; import bookkeeper_tx.transport.tls"
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=environment()
    )
    assert "InvalidConfig: TLS needs pyOpenSSL" in ended.stderr
    assert "pip install 'bookkeeper_tx[tls]'" in ended.stderr
