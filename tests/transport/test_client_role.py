"""A bookie that sends arbitrary bytes in pieces, even after it was given up, does not harm other connections."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.logger import globalLogPublisher

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.transport.bookie_channel import BookieChannel
from bookkeeper_tx.transport.twisted_driver import TwistedDriver
from protocol_specs.wire.operations import V3Operation
from tests.protocol.client.v3_answers import answer
from tests.sampling import examples
from tests.transport.puppet import Puppet

ENTRY = (1).to_bytes(8, "big") + (2).to_bytes(8, "big") + bytes(24)
V2_ADDED = bytes.fromhex("00000018020100000000000000000000000000010000000000000002")
V2_READ = bytes.fromhex("00000040020200000000000000000000000000010000000000000002") + ENTRY
GOOD = {
    "v2": [V2_ADDED, V2_READ],
    "v3": [
        answer(V3Operation.ADD_ENTRY, 1, ledger_id=1, entry_id=2),
        answer(V3Operation.READ_ENTRY, 2, ledger_id=1, entry_id=2, body=ENTRY),
    ],
}


def puppet_of(protocol: str) -> Puppet:
    """A puppet with an add and a read in flight on one connection."""
    puppet = Puppet()
    puppet.channel = BookieChannel(TwistedDriver(puppet.reactor), puppet.resolve, ClientConfig(protocol=protocol))
    puppet.channel.add_entry(1, 2, ENTRY, bytes(20), puppet.token("add"))
    puppet.channel.read_entry(1, 2, puppet.token("read"))
    puppet.accept()
    puppet.sent()
    return puppet


def pieces(protocol: str) -> st.SearchStrategy[list[bytes]]:
    frames = st.sampled_from(GOOD[protocol])
    changed = st.builds(
        lambda frame, at, value: frame[: at % len(frame)] + bytes([value]) + frame[at % len(frame) + 1 :],
        frames,
        st.integers(0, 100),
        st.integers(0, 255),
    )
    return st.lists(st.one_of(frames, changed, st.binary(min_size=1, max_size=40)), max_size=8)


@pytest.mark.parametrize("protocol", ["v2", "v3"])
def test_only_the_connection_itself_is_harmed(protocol: str) -> None:
    @settings(max_examples=examples(150), deadline=None)
    @given(pieces(protocol))
    def check(data: list[bytes]) -> None:
        failures: list[Any] = []
        globalLogPublisher.addObserver(failures.append)
        try:
            bad, good = puppet_of(protocol), puppet_of(protocol)
            for piece in data:
                # Even after the bytes that broke the protocol: the transport may have read them already.
                bad.protocol.dataReceived(piece)
            bad.reactor.pump([0.5] * 12)
            bad.lose()
            for frame in GOOD[protocol]:
                good.protocol.dataReceived(frame)
        finally:
            globalLogPublisher.removeObserver(failures.append)
        assert Counter(name for name, _, _ in bad.done) == Counter(["add", "read"])
        assert all(error is None or issubclass(error, BookKeeperError) for _, error, _ in bad.done)
        assert [each[:2] for each in good.done] == [("add", None), ("read", None)]
        assert [each for each in failures if "log_failure" in each] == []
        # The next request makes a connection of its own.
        bad.channel.read_entry(1, 2, bad.token("next"))
        bad.accept()
        assert bad.sent()

    check()
