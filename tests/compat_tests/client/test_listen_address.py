"""Where scripted bookies may listen."""

import pytest

from compat_tests.client.listen_address import ListenAddress


@pytest.mark.parametrize(
    ("text", "host", "ports"),
    [
        ("127.0.0.1", "127.0.0.1", [0]),
        ("10.0.0.1:40000-40002", "10.0.0.1", [40000, 40001, 40002]),
        ("[::1]:5-5", "::1", [5]),
    ],
)
def test_forms(text, host, ports):
    listen = ListenAddress.parse(text)
    assert (listen.host, listen.ports()) == (host, ports)


def test_each_bookie_begins_at_another_port():
    listen = ListenAddress.parse("h:7-9")
    assert [listen.ports()[0] for _ in range(4)] == [7, 8, 9, 7]
    assert listen.ports() == [8, 9, 7]


@pytest.mark.parametrize("text", ["", "h:1", "h:9-7", "h:0-5", "h:1-70000", "h:x-y"])
def test_slips(text):
    with pytest.raises(ValueError, match="40000-40099"):
        ListenAddress.parse(text)
