"""Connections that are secured and authenticated without a reactor: every outcome, and its error text."""

import ssl
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve, field, frozen

from bookkeeper_tx.config import ClientConfig, WireProtocol
from bookkeeper_tx.errors import (
    AuthenticationFailed,
    AuthenticationUnanswered,
    BookieUnavailable,
    BookKeeperError,
    CannotConnect,
    InvalidConfig,
    ProtocolViolation,
    TlsFailed,
    Unauthorized,
)
from bookkeeper_tx.security.sasl import SaslBookie, SaslClient
from bookkeeper_tx.security.tls_config import TlsConfig
from bookkeeper_tx.transport import blocking, blocking_connect
from bookkeeper_tx.transport.blocking import BlockingChannel
from compat_tests.wire.tls import bookie_context
from tests.certificates import Authority, Identity
from tests.plain_auth import PlainBookie, PlainClient
from tests.transport.memory_bookie import ENTRY, MemoryBookie, MemorySelector

USERS = {"bookkeeper-a": "right"}
SASL = SaslClient("bookkeeper-a", "right")

both_versions = pytest.mark.parametrize("protocol", list(WireProtocol))


@frozen
class Secrets:
    """Certificates for one test."""

    directory: Path
    authority: Authority = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "authority", Authority(self.directory))

    def bookie(self, identity: Identity | None = None, **more: Any) -> ssl.SSLContext:
        identity = identity or self.authority.issue("bookie")
        return bookie_context(identity.certificate_path, identity.key_path, **more)

    def asking_bookie(self, **more: Any) -> ssl.SSLContext:
        context = self.bookie(clients_of=self.authority.path, **more)
        context.verify_mode = ssl.CERT_REQUIRED
        return context

    @property
    def trusting(self) -> TlsConfig:
        return TlsConfig(trust_path=str(self.authority.path))

    def showing(self, identity: Identity) -> TlsConfig:
        return evolve(
            self.trusting,
            certificate_path=str(identity.certificate_path),
            key_path=str(identity.key_path),
            key_password_path=identity.password_path and str(identity.password_path),
            client_authentication=True,
        )


@pytest.fixture
def secrets(tmp_path: Path) -> Secrets:
    return Secrets(tmp_path)


Channel = Callable[..., BlockingChannel]


@pytest.fixture
def to(monkeypatch: pytest.MonkeyPatch) -> Channel:
    """``to(bookie, tls=…)`` connects a channel to a bookie in memory."""

    def connect(bookie: MemoryBookie, host: str = "localhost", **settings: Any) -> BlockingChannel:
        def take_timeout(_: Any, timeout: float) -> MemoryBookie:
            bookie.settimeout(timeout)
            return bookie

        monkeypatch.setattr(blocking_connect.socket, "create_connection", take_timeout)
        monkeypatch.setattr(blocking.selectors, "DefaultSelector", lambda: MemorySelector(lambda: bookie))
        return BlockingChannel(host, 3181, ClientConfig(**settings))

    return connect


def refusal(to: Channel, bookie: MemoryBookie, **settings: Any) -> BookKeeperError:
    """The error of a read after all handshakes."""
    with pytest.raises(BookKeeperError) as caught:
        to(bookie, **settings).read_entry(5, 0)
    if not isinstance(caught.value, Unauthorized):  # which leaves the connection as it is
        assert bookie.fileno() < 0, "closed"
    assert "localhost:3181" in str(caught.value)
    return caught.value


# Success -------------------------------------------------------------------------------------------------------------


@both_versions
@pytest.mark.parametrize("like_java", [False, True])
@pytest.mark.parametrize("security", ["tls", "sasl", "tls+sasl", "mutual+sasl"])
def test_reads(to: Channel, secrets: Secrets, protocol: WireProtocol, security: str, like_java: bool) -> None:
    settings: dict[str, Any] = {"protocol": protocol}
    context, auth, identity = None, None, None
    if "mutual" in security:
        identity = secrets.authority.issue("reader", encrypted=True)
        context, settings["tls"] = secrets.asking_bookie(), secrets.showing(identity)
    elif "tls" in security:
        context, settings["tls"] = secrets.bookie(), evolve(secrets.trusting, hostname_verification=True)
    if "sasl" in security:
        auth, settings["auth"] = SaslBookie(USERS), SASL
    bookie = MemoryBookie(context, auth, like_java=like_java)
    with to(bookie, **settings) as channel:
        assert channel.read_entry(5, 1) == ENTRY
        assert list(channel.read_range(5, 2, 20)) == [ENTRY] * 8
        assert bookie.timeouts[-1] == 0, "it does not wait"
    assert bookie.peer.principal == ("bookkeeper-a" if auth else None)
    assert bookie.peer.certificate == (identity.der if identity else None)
    if context is not None:
        assert b"bookkeeper-a" not in bookie.wire, "tokens go inside TLS"


@both_versions
def test_what_comes_byte_by_byte(to: Channel, secrets: Secrets, protocol: WireProtocol) -> None:
    bookie = MemoryBookie(secrets.bookie(), SaslBookie(USERS), piece=1)
    with to(bookie, tls=secrets.trusting, auth=SASL, protocol=protocol) as channel:
        assert channel.read_entry(5, 1) == ENTRY


@both_versions
def test_a_bookie_without_authentication_takes_everybody(to: Channel, protocol: WireProtocol) -> None:
    with to(MemoryBookie(), auth=SASL, protocol=protocol) as channel:
        assert channel.read_entry(5, 1) == ENTRY


def test_rounds_of_a_plugin(to: Channel) -> None:
    with to(MemoryBookie(auth=PlainBookie({"reader": "secret"}, rounds=4)), auth=PlainClient()) as channel:
        assert channel.read_entry(5, 1) == ENTRY


def test_the_plugin_knows_the_bookies_certificate(to: Channel, secrets: Secrets) -> None:
    identity = secrets.authority.issue("bookie")
    seen = PlainClient()
    to(MemoryBookie(secrets.bookie(identity)), tls=secrets.trusting, auth=seen)
    assert [(peer.certificate, peer.secure) for peer in seen.peers] == [(identity.der, True)]


# Failures ------------------------------------------------------------------------------------------------------------


def test_a_bookie_without_tls(to: Channel, secrets: Secrets) -> None:
    error = refusal(to, MemoryBookie(), tls=secrets.trusting)
    assert (type(error), "does not offer TLS: configure it there" in str(error)) == (TlsFailed, True)


def test_a_bookie_of_another_authority(to: Channel, secrets: Secrets, tmp_path: Path) -> None:
    other = Authority(tmp_path, "another authority")
    bookie = MemoryBookie(secrets.bookie(other.issue("bookie")))
    error = refusal(to, bookie, tls=secrets.trusting)
    assert (type(error), "from an authority that is not in the trust store" in str(error)) == (TlsFailed, True)
    assert bookie.hung_up, "it was told"


def test_an_expired_certificate(to: Channel, secrets: Secrets) -> None:
    bookie = MemoryBookie(secrets.bookie(secrets.authority.issue("old", expired=True)))
    assert "has expired: renew it there" in str(refusal(to, bookie, tls=secrets.trusting))


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
def test_the_name_of_the_host(to: Channel, secrets: Secrets, hosts: tuple[str, ...], host: str, right: bool) -> None:
    def bookie() -> MemoryBookie:
        return MemoryBookie(secrets.bookie(secrets.authority.issue("bookie", hosts)))

    to(bookie(), host, tls=secrets.trusting).close()
    checking = evolve(secrets.trusting, hostname_verification=True)
    if right:
        to(bookie(), host, tls=checking).close()
    else:
        with pytest.raises(TlsFailed, match=f"is not for {host}, the host it has registered"):
            to(bookie(), host, tls=checking)


def test_the_common_name_is_no_name_of_a_host(to: Channel, secrets: Secrets) -> None:
    identity = secrets.authority.issue("localhost", ("elsewhere",))
    with pytest.raises(TlsFailed, match="is not for localhost"):
        to(MemoryBookie(secrets.bookie(identity)), tls=evolve(secrets.trusting, hostname_verification=True))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=str)
@pytest.mark.parametrize("auth", [None, SASL])
def test_a_bookie_that_wants_our_certificate(to: Channel, secrets: Secrets, version: Any, auth: Any) -> None:
    """In TLS 1.3 it refuses our lack of one only after the handshake."""
    plugin = auth and SaslBookie(USERS)
    asking = secrets.asking_bookie(version=version)
    error = refusal(to, MemoryBookie(asking, plugin), tls=secrets.trusting, auth=auth)
    assert type(error) is TlsFailed
    assert "tlsCertificatePath" in str(error)
    expired = secrets.showing(secrets.authority.issue("old", expired=True))
    error = refusal(to, MemoryBookie(secrets.asking_bookie(version=version), plugin), tls=expired, auth=auth)
    assert (type(error), "our certificate has expired" in str(error)) == (TlsFailed, True)


@pytest.mark.parametrize("auth", [None, SASL])
def test_its_reason_is_heard_also_if_the_request_meets_a_reset(to: Channel, secrets: Secrets, auth: Any) -> None:
    bookie = MemoryBookie(secrets.asking_bookie(version=ssl.TLSVersion.TLSv1_3), auth and SaslBookie(USERS))
    bookie.resets = True
    error = refusal(to, bookie, tls=secrets.trusting, auth=auth)
    assert (type(error), "tlsCertificatePath" in str(error)) == (TlsFailed, True)


def test_it_is_heard_by_who_only_sends(to: Channel, secrets: Secrets) -> None:
    bookie = MemoryBookie(secrets.asking_bookie(version=ssl.TLSVersion.TLSv1_3))
    bookie.resets = True
    channel = to(bookie, tls=secrets.trusting)
    channel.start_read(5, 0)
    with pytest.raises(TlsFailed, match="tlsCertificatePath"):
        channel.flush()
    assert channel.closed


def test_a_reset_without_a_reason(to: Channel, secrets: Secrets) -> None:
    bookie = MemoryBookie(secrets.bookie())
    channel = to(bookie, tls=secrets.trusting)
    bookie.resets = True
    bookie.hang_up()
    with pytest.raises(BookieUnavailable, match="localhost:3181 lost"):
        channel.read_entry(5, 0)


def test_other_versions_of_tls(to: Channel, secrets: Secrets) -> None:
    bookie = MemoryBookie(secrets.bookie(version=ssl.TLSVersion.TLSv1_3))
    error = refusal(to, bookie, tls=evolve(secrets.trusting, protocols=("TLSv1.2",)))
    assert (type(error), "tlsEnabledProtocols" in str(error)) == (TlsFailed, True)
    bookie = MemoryBookie(secrets.bookie(version=ssl.TLSVersion.TLSv1_2))
    with to(bookie, tls=evolve(secrets.trusting, protocols=("TLSv1.2",))) as channel:
        assert channel.read_entry(5, 0) == ENTRY


@both_versions
def test_a_wrong_password(to: Channel, protocol: WireProtocol) -> None:
    """V2 has no words for a refusal."""
    error = refusal(to, MemoryBookie(auth=SaslBookie(USERS)), auth=evolve(SASL, password="no"), protocol=protocol)
    assert type(error) is (AuthenticationFailed if protocol is WireProtocol.V3 else AuthenticationUnanswered)
    assert "right" not in str(error)


@both_versions
def test_a_bookie_that_says_nothing_to_a_wrong_password(to: Channel, protocol: WireProtocol) -> None:
    """As Java's bookie with its SASL plugin."""
    bookie = MemoryBookie(auth=PlainBookie({}), like_java=True)
    bookie.silent = True
    error = refusal(to, bookie, auth=PlainClient(), protocol=protocol)
    assert (type(error), "unanswered: they may be wrong" in str(error)) == (AuthenticationUnanswered, True)


def test_another_plugin(to: Channel) -> None:
    error = refusal(to, MemoryBookie(auth=SaslBookie(USERS)), auth=PlainClient())
    assert type(error) is AuthenticationUnanswered


@both_versions
@pytest.mark.parametrize("version", [None, ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=str)
@pytest.mark.parametrize("like_java", [False, True])
def test_a_bookie_that_wants_authentication_and_we_have_none(
    to: Channel, secrets: Secrets, protocol: WireProtocol, version: Any, like_java: bool
) -> None:
    context = version and secrets.bookie(version=version)
    bookie = MemoryBookie(context, SaslBookie(USERS), like_java=like_java)
    error = refusal(to, bookie, tls=version and secrets.trusting, protocol=protocol)
    assert type(error) is (AuthenticationFailed if version and like_java else Unauthorized)
    assert "wants authentication, and none is configured: clientAuthProviderFactoryClass" in str(error)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=str)
def test_it_is_said_also_if_the_bookie_hangs_up_on_the_request(to: Channel, secrets: Secrets, version: Any) -> None:
    """As Java's bookie (``AuthHandler``) does on a batch read."""
    bookie = MemoryBookie(secrets.bookie(version=version), SaslBookie(USERS), like_java=True)
    channel = to(bookie, tls=secrets.trusting)
    bookie.hang_up()
    with pytest.raises(AuthenticationFailed, match="none is configured"):
        channel.batch_read(5, 0, 10, 1000)


def test_a_bookie_that_hangs_up(to: Channel, secrets: Secrets) -> None:
    for settings, kind, words in (
        ({"tls": secrets.trusting}, TlsFailed, "while asking for TLS"),
        ({"auth": SASL}, AuthenticationUnanswered, "on our credentials: they may be wrong"),
    ):
        bookie = MemoryBookie(secrets.bookie(), SaslBookie(USERS))
        bookie.silent = True
        bookie.hang_up()
        error = refusal(to, bookie, **settings)
        assert (type(error), words in str(error)) == (kind, True)


def test_a_bookie_that_goes_without_a_word_about_the_certificate_it_wants(to: Channel, secrets: Secrets) -> None:
    bookie = MemoryBookie(secrets.bookie(), PlainBookie({}))
    bookie.hang_up()
    error = refusal(to, bookie, tls=secrets.trusting, auth=PlainClient())
    assert "tlsClientAuthentication" in str(error)


def test_all_of_it_counts_against_one_time_out(to: Channel, secrets: Secrets, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = count()
    monkeypatch.setattr(blocking_connect, "time", SimpleNamespace(monotonic=lambda: float(next(seconds))))
    bookie = MemoryBookie(secrets.bookie(), SaslBookie(USERS))
    to(bookie, tls=secrets.trusting, auth=SASL, connect_timeout_s=30.0)
    waits = bookie.timeouts[:-1]
    assert waits == sorted(waits, reverse=True)
    assert len(set(waits)) == len(waits) == next(seconds)
    with pytest.raises(CannotConnect, match="did not answer in time while asking for TLS"):
        to(MemoryBookie(secrets.bookie()), tls=secrets.trusting, connect_timeout_s=2.0)
    for connect_timeout_s in range(1, len(waits)):
        seconds = count()
        bookie = MemoryBookie(secrets.bookie(), SaslBookie(USERS))
        with pytest.raises((CannotConnect, AuthenticationFailed)):
            to(bookie, tls=secrets.trusting, auth=SASL, connect_timeout_s=float(connect_timeout_s))
        assert bookie.fileno() < 0


def test_no_connection_is_made_for_files_that_cannot_be_used(to: Channel, tmp_path: Path) -> None:
    bookie = MemoryBookie()
    with pytest.raises(InvalidConfig, match=r"missing\.pem cannot be used"):
        to(bookie, tls=TlsConfig(trust_path=str(tmp_path / "missing.pem")))
    assert not bookie.timeouts


def test_bytes_in_clear_behind_the_agreement_to_tls(to: Channel, secrets: Secrets) -> None:
    bookie = MemoryBookie(secrets.bookie())
    handle = bookie._handle

    def agree(request: Any) -> None:
        handle(request)
        bookie.say_in_clear(b"\x16")

    bookie._handle = agree  # type: ignore[method-assign]
    assert type(refusal(to, bookie, tls=secrets.trusting)) is ProtocolViolation


def test_what_nobody_has_asked_for(to: Channel) -> None:
    bookie = MemoryBookie(auth=PlainBookie({"reader": "secret"}))
    say = bookie.say
    bookie.say = lambda data: say(data + b"?")  # type: ignore[method-assign]
    assert "nobody asked for" in str(refusal(to, bookie, auth=PlainClient()))


def test_a_name_that_no_host_has(to: Channel, secrets: Secrets) -> None:
    with pytest.raises(TlsFailed, match="no name of a host"):
        to(MemoryBookie(secrets.bookie()), ".", tls=secrets.trusting)


# Later ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("goodbye", [False, True])
def test_the_end_of_a_connection_inside_tls(to: Channel, secrets: Secrets, goodbye: bool) -> None:
    bookie = MemoryBookie(secrets.bookie())
    channel = to(bookie, tls=secrets.trusting)
    assert channel.read_entry(5, 0) == ENTRY
    bookie.silent = True
    bookie.hang_up(goodbye=goodbye)
    with pytest.raises(BookieUnavailable, match="localhost:3181 closed the connection"):
        channel.read_entry(5, 0)


def test_junk_inside_tls_is_tls_that_failed(to: Channel, secrets: Secrets) -> None:
    bookie = MemoryBookie(secrets.bookie())
    channel = to(bookie, tls=secrets.trusting)
    bookie.say_in_clear(b"\x17\x03\x03\0\x20" + bytes(32))
    with pytest.raises(TlsFailed, match="localhost:3181"):
        channel.read_entry(5, 0)
    assert channel.closed
