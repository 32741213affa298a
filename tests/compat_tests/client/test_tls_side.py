"""The bookie's side of TLS, against a client in memory."""

import ssl

import pytest

from compat_tests.client.tls_side import TlsSide
from compat_tests.targets.certificates import Secrets
from compat_tests.wire.tls import bookie_context
from tests.compat_tests.client.tls_peer import TlsPeer, records, secrets_in


def side_of(secrets: Secrets, clients: bool = False) -> TlsSide:
    authority = secrets.client_files.ca if clients else None
    return TlsSide(bookie_context(*secrets.bookie_files, clients_of=authority))


def shake_hands(side: TlsSide, peer: TlsPeer) -> bytes:
    """Pass bytes to and fro while the client has some; gives the bytes that came inside TLS."""
    inside = b""
    while data := peer.answer():
        inside += side.receive(data)
        peer.sendall(side.wire())
    return inside


def test_bytes_go_both_ways_and_each_time_in_one_record(tmp_path):
    secrets = secrets_in(tmp_path, "ours")
    side, peer = side_of(secrets), TlsPeer(secrets, inside=b"a question")
    assert shake_hands(side, peer) == b"a question"
    assert side.up
    assert side.certificate is None
    assert side.about.startswith("TLSv1.")
    sealed = side.seal(b"an answer")
    assert len(records(sealed)) == 1
    peer.sendall(sealed)
    assert peer.heard() == b"an answer"


def test_what_no_record_can_hold_comes_in_several(tmp_path):
    secrets = secrets_in(tmp_path, "ours")
    side, peer = side_of(secrets), TlsPeer(secrets)
    shake_hands(side, peer)
    sealed = side.seal(bytes(40_000))
    assert len(records(sealed)) == 3
    peer.sendall(sealed)
    assert peer.heard() == bytes(40_000)


def test_half_a_record_gives_nothing_before_the_rest_is_there(tmp_path):
    secrets = secrets_in(tmp_path, "ours")
    side, peer = side_of(secrets), TlsPeer(secrets)
    shake_hands(side, peer)
    peer.tls.write(b"a question")
    data = peer.leaving.read()
    assert side.receive(data[:9]) == b""
    assert side.receive(data[9:]) == b"a question"


def test_a_goodbye_is_heard_on_either_side(tmp_path):
    secrets = secrets_in(tmp_path, "ours")
    side, peer = side_of(secrets), TlsPeer(secrets)
    assert side.goodbye() == b""
    shake_hands(side, peer)
    with pytest.raises(ssl.SSLWantReadError):
        peer.tls.unwrap()
    assert side.receive(peer.leaving.read()) == b""
    assert side.ended
    assert len(records(side.goodbye())) == 1


def test_the_certificate_of_a_client_is_kept_if_it_has_one(tmp_path):
    secrets = secrets_in(tmp_path, "ours")
    for shows in (True, False):
        side = side_of(secrets, clients=True)
        shake_hands(side, TlsPeer(secrets, shows=shows))
        assert side.up
        assert (side.certificate is not None) is shows


def test_a_client_of_another_authority_says_so(tmp_path):
    side, peer = side_of(secrets_in(tmp_path, "ours")), TlsPeer(secrets_in(tmp_path, "theirs"))
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(side, peer)
    with pytest.raises(ssl.SSLError, match=r"(?i)alert"):
        side.receive(peer.leaving.read())
    assert not side.up


def test_what_is_no_tls_is_refused(tmp_path):
    with pytest.raises(ssl.SSLError):
        side_of(secrets_in(tmp_path, "ours")).receive(bytes(64))
