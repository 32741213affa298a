"""A connection of a scripted bookie, in clear and inside TLS, without a socket."""

import pytest

from compat_tests.client.answers import encode
from compat_tests.client.bookie_connection import BookieConnection
from compat_tests.client.client_requests import READ, START_TLS
from compat_tests.client.entry_store import EntryStore
from compat_tests.client.rules import Exchange
from compat_tests.judge.case import V2
from compat_tests.judge.recording import NOTE, Recording
from compat_tests.wire import v2_requests, v3_requests
from compat_tests.wire.line import with_length
from compat_tests.wire.tls import bookie_context
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.status import EIO, EOK
from tests.compat_tests.client.tls_peer import TlsPeer, records, secrets_in

ASK_FOR_TLS = with_length(v3_requests.start_tls())
READS = with_length(v2_requests.read(7, 3)) + with_length(v2_requests.read(7, 4))


class Bookie:
    """Answers honestly, or as ``act`` does."""

    def __init__(self, tls=None, act=None):
        self.recording, self.store, self.tls = Recording(), EntryStore(), tls
        self.requests, self.troubles, self.certificates = [], [], []
        self.act = act

    def rule_for(self, request):
        self.requests.append(request)
        return self if self.act is not None and request.operation == READ else None

    @property
    def action(self):
        return self.act

    def carry_out(self, request):
        return self.store.answer(request)

    def poll(self, request, answer):
        return False

    @property
    def notes(self):
        return [event.text for event in self.recording.events if event.sender == NOTE]


@pytest.fixture
def secrets(tmp_path):
    return secrets_in(tmp_path, "ours")


def served(bookie, peer):
    """Let the client send all that it has, and wait for its end."""
    BookieConnection(bookie, peer, "bookie 1, connection 1").start()
    assert peer.ended.wait(10)
    assert bookie.troubles == []


def tls_bookie(secrets, act=None):
    return Bookie(bookie_context(*secrets.bookie_files), act)


def status_of(data):
    return v3_pb2.Response.FromString(data[4:]).status


def test_start_tls_is_refused_without_a_context(secrets):
    bookie, peer = Bookie(), TlsPeer(secrets, clear=ASK_FOR_TLS)
    peer.answer = lambda: b""
    served(bookie, peer)
    assert status_of(peer.heard_in_clear) == EIO.v3


def test_requests_inside_tls_are_served_and_known_as_such(secrets):
    bookie, peer = tls_bookie(secrets), TlsPeer(secrets, clear=ASK_FOR_TLS, inside=READS)
    served(bookie, peer)
    assert status_of(peer.heard_in_clear) == EOK.v3
    request = [(each.operation, each.inside_tls) for each in bookie.requests]
    assert request == [(START_TLS, False), (READ, True), (READ, True)]
    replies = [encode(each, bookie.store.answer(each)) for each in bookie.requests[1:]]
    assert peer.heard() == b"".join(map(with_length, replies))
    assert bookie.certificates == [None]


def test_the_recording_has_the_bytes_inside_and_says_so(secrets):
    bookie = tls_bookie(secrets)
    served(bookie, TlsPeer(secrets, clear=ASK_FOR_TLS, inside=READS))
    data = [event.data for event in bookie.recording.events if event.sender == "target"]
    assert data == [ASK_FOR_TLS, READS[: len(READS) // 2], READS[len(READS) // 2 :]]
    assert any("TLS is up" in note and "bytes inside" in note for note in bookie.notes)


def test_frames_sent_together_are_one_record_and_pieces_are_several(secrets):
    sizes = []

    def measured(act):
        def acted(ask):
            before = len(peer.wire)
            act(ask)
            sizes.append(len(records(peer.wire[before:])))

        return acted

    for act in (lambda ask: ask.send(b"one", b"two"), lambda ask: [ask.send_bytes(b"abc") for _ in range(3)]):
        peer = TlsPeer(secrets, clear=ASK_FOR_TLS, inside=with_length(v2_requests.read(7, 3)))
        served(tls_bookie(secrets, measured(act)), peer)
    assert sizes == [1, 3]


def test_what_is_broken_off_lacks_its_end_on_the_wire(secrets):
    heard = {}
    for missing in (0, 5):
        peer = TlsPeer(secrets, clear=ASK_FOR_TLS, inside=with_length(v2_requests.read(7, 3)))
        bookie = tls_bookie(secrets, lambda ask, missing=missing: ask.break_off(b"the whole reply", missing))
        served(bookie, peer)
        heard[missing] = peer.heard()
        assert any("broken off" in note for note in bookie.notes)
    assert heard == {0: b"the whole reply", 5: b""}


def test_a_handshake_that_fails_is_noted_and_ends_the_connection(secrets):
    bookie, peer = tls_bookie(secrets), TlsPeer(secrets, clear=ASK_FOR_TLS)
    peer.answer = lambda: b"" if peer._begun else _junk(peer)
    served(bookie, peer)
    assert any(note.startswith("no TLS") for note in bookie.notes)
    assert bookie.certificates == []


def _junk(peer):
    peer._begun = True
    return bytes(64)


def test_an_exchange_knows_its_connection():
    connection = BookieConnection(Bookie(), TlsPeerless(), "line 1")
    assert Exchange(None, connection).line == "line 1"


class TlsPeerless:
    def setsockopt(self, *options):
        pass


def test_in_clear_nothing_is_inside(secrets):
    bookie, peer = Bookie(), TlsPeer(secrets, clear=READS)
    peer.answer = lambda: b""
    served(bookie, peer)
    assert [(each.dialect, each.inside_tls) for each in bookie.requests] == [(V2, False), (V2, False)]
