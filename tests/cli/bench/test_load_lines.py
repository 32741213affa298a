"""The lines between the bench and its clients."""

import pytest

from bookkeeper_tx.cli.bench.load_lines import LoadFailed, numbers, parse, parse_reply, render


def test_what_is_rendered_is_parsed():
    line = render("adds", {"entries": 10, "lengths": [1, 2, 3], "uri": "zk://host:1/a=b", "none": []})
    verb, values = parse(line)
    assert verb == "adds"
    assert values == {"entries": "10", "lengths": "1,2,3", "uri": "zk://host:1/a=b", "none": ""}
    assert numbers(values["lengths"]) == [1, 2, 3]
    assert numbers(values["none"]) == []


def test_an_error_names_the_client_that_reports_it():
    with pytest.raises(LoadFailed, match="client 3: no such ledger 5"):
        parse_reply("error no such ledger 5\n", "client 3")


def test_a_reply_is_its_values():
    assert parse_reply("ok entries=5 bytes=7\n", "client") == {"entries": "5", "bytes": "7"}
