"""Options as Spark hands them over: names in small letters, values as text."""

import re
from itertools import product

import pytest
from attrs import fields

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.model import DigestType, LedgerId
from bookkeeper_tx.spark.options.entry_ranges import ENTRY_RANGES
from bookkeeper_tx.spark.options.offsets import ENDS, STARTS, Edge
from bookkeeper_tx.spark.options.option import (
    BATCH_SIZE,
    BOOLEAN,
    COUNT,
    DIGEST,
    LEDGER,
    LEDGERS,
    METADATA_URI,
    PATHS,
    SCOPE,
    SIZE,
    TEXT,
    TIMEOUT,
    WAIT,
    Option,
    Use,
    option_name,
    option_of,
)
from bookkeeper_tx.spark.options.option_parsing import SPARKS_OWN
from bookkeeper_tx.spark.options.options import Options, ReadMode

CLUSTER = {"metadataserviceuri": "sqlite:///meta.db"}


def parsed(use: Use = Use.READ, **values: str) -> Options:
    return Options.from_spark({**CLUSTER, **values}, use)


def refused(use: Use = Use.READ, **values: str) -> str:
    with pytest.raises(InvalidConfig) as caught:
        parsed(use, **values)
    return str(caught.value)


def test_names_are_taken_in_small_letters_and_as_documented() -> None:
    small = parsed(ledger="7", batchbytes="64k", readmode="CLOSED", includelastaddconfirmed="True")
    assert small == parsed(ledger="7", batchBytes="65536", readMode="closed", includeLastAddConfirmed="true")
    assert (small.ledger, small.batch_bytes, small.read_mode) == (7, 65536, ReadMode.CLOSED)
    assert small.include_last_add_confirmed
    assert parsed(Use.STREAM, ledger="7", maxoffsetspertrigger="5").max_entries_per_trigger == 5


def test_what_is_under_a_prefix_is_a_mapping() -> None:
    found = parsed(**{"ledgermetadata.owner": "me", "ledgerMetadata.kind": "log", "bookkeeper.client.a": "1"})
    assert found.ledger_metadata == {"owner": "me", "kind": "log"}
    assert found.client_keys == {"a": "1"}


def test_ledgers_are_numbers_ranges_and_qualified_names() -> None:
    assert parsed(ledgers="1, 5-9 ,20-").ledgers == ((1, 1), (5, 9), (20, None))
    scoped = LedgerId(7, 12)
    assert parsed(ledger=scoped.qualified_name).ledger == scoped
    assert parsed(ledgers="0-", scope="all").scope is None
    assert parsed(ledgers="0-", scope="-3").scope == -3


def test_offsets_are_words_or_json() -> None:
    assert parsed(ledger="7", startingoffsets="Latest").starting_offsets.of(7) is Edge.LATEST
    found = parsed(ledger="7", endingoffsets='{"7": 10, "8": "earliest"}').ending_offsets
    assert (found.of(7), found.of(8), found.of(9)) == (10, Edge.EARLIEST, Edge.LATEST)


def test_digests_have_the_names_of_their_types() -> None:
    assert parsed(ledger="7", digesttype="mac").digest_type is DigestType.MAC


def test_a_sink_needs_no_ledgers() -> None:
    assert parsed(Use.STREAM_WRITE, sinkId="a", checkpointlocation="x").sink_id == "a"


WRONG = [
    ({}, "no ledgers are named: give one of ledger, ledgers"),
    ({"leger": "3"}, "option leger is not known; did you mean ledger"),
    ({"ledger": "x"}, "option ledger = 'x': 'x' is no ledger id; write a ledger id: a decimal number, or 32"),
    ({"ledger": "-1"}, "'-1' is no ledger id"),
    ({"ledger": "9223372036854775808"}, "is no ledger id"),
    ({"ledger": "1", "manifest": "m"}, "options ledger and manifest exclude each other"),
    ({"ledgers": "9-5"}, "'9-5' ends before it begins"),
    ({"ledgers": ""}, "option ledgers = ''"),
    ({"ledger": "1", "scope": "x"}, "write the number of a scope, or `all`"),
    ({"ledger": "1", "minpartitions": "0"}, "option minPartitions = '0': write a whole number, 1 or more"),
    ({"ledger": "1", "batchbytes": "8q"}, "option batchBytes = '8q': write bytes, as in `8388608`"),
    ({"ledger": "1", "batchbytes": "2g"}, "option batchBytes = '2g': an Arrow batch has 1 GiB at most"),
    ({"ledger": "1", "batchrows": "2000000"}, "option batchRows = '2000000': write a whole number from 1 to 1000000"),
    ({"ledger": "1", "maxbytesperpartition": "9999999999g"}, "more than anything can hold; write bytes"),
    ({"ledger": "1", "readtimeoutms": "604800001"}, "write a whole number from 1 to 604800000"),
    ({"ledgermetadata.": "me"}, "option ledgerMetadata. = 'me': a key is missing after the dot"),
    ({"ledger": "1", "readmode": "all"}, "write one of `lac`, `closed`"),
    ({"ledger": "1", "batch": "yes"}, "option batch = 'yes': write `true` or `false`"),
    ({"ledger": "1", "startingoffsets": "begin"}, "neither a word that is known nor JSON; write `earliest`"),
    ({"ledger": "1", "startingoffsets": "[1]"}, "must be an object"),
    ({"ledger": "1", "startingoffsets": '{"1": -1}'}, "the offset of ledger 1, -1, is no entry id"),
    ({"ledger": "1", "startingoffsets": '{"1": 2, "1": 3}'}, "a ledger is named twice"),
    ({"ledger": "1", "startingoffsets": '{"a": 2}'}, "'a' is no ledger id"),
    ({"ledger": "1", "sinkid": "s"}, "option sinkId does nothing here: leave it out"),
    ({"ledger": "1", "maxentriespertrigger": "5"}, "option maxEntriesPerTrigger does nothing here"),
    ({"ledger": "1", "includelost": "true"}, "includeLost does nothing unless failOnDataLoss is false"),
    ({"ledger": "1", "readmode": "closed", "allowrecovery": "true"}, "contradict each other"),
    ({"ledger": "1", "numretries": "many"}, "option numRetries = 'many': write a whole number from 0 to 1000"),
]


@pytest.mark.parametrize(("values", "text"), WRONG, ids=[text for _, text in WRONG])
def test_a_wrong_option_is_named_with_what_to_write(values: dict[str, str], text: str) -> None:
    assert text in refused(**values)


NUMBERS = ["", "x", "1.5", "1e3", "-1", str(2**63)]
SIZES = ["", "x", "0", "-1", "8q", "1.5m", str(2**63)]
WRONG_OF_KIND = {
    TEXT: ["", " "],
    METADATA_URI: ["", "here", "zoo://x", "zk://host:2181", "zk://host:x/ledgers", "sqlite://m", "etcd://h"],
    BOOLEAN: ["", "yes", "1"],
    COUNT: ["0", *NUMBERS],
    TIMEOUT: ["0", *NUMBERS],
    WAIT: NUMBERS,
    SIZE: SIZES,
    BATCH_SIZE: ["2g", *SIZES],
    DIGEST: ["", "md5"],
    LEDGER: ["", "x", "-1", "1.5", str(2**63), "1-2"],
    LEDGERS: ["", "x", "1,,2", "9-5", "-5", "1-2-3"],
    SCOPE: ["", "x", str(2**63)],
    PATHS: ["", "a,,b", "[1]", "[", '["a", ""]'],
    STARTS: ["", "begin", "[]", "{}", '{"1": -1}', '{"1": "x"}', '{"x": 1}', '{"1": 1.5}'],
    ENDS: ["", "end", "7"],
    ENTRY_RANGES: ["", "7", "[]", "{}", '{"7": 5}', '{"x": "1"}', '{"1": "9-5"}'],
}
ATTRIBUTES = {option_name(each): option_of(each) for each in fields(Options)}
NAMES = pytest.mark.parametrize("name", ATTRIBUTES)


def wrong_values(option: Option) -> list[str]:
    """Return values that the option must refuse: those of its kind, or values that no other kind takes."""
    return WRONG_OF_KIND.get(option.kind) or ["", "nonsense", "-1"]


def uses_of(option: Option) -> list[Use]:
    return [each for each in Use if each in option.uses]


def mention(name: str) -> str:
    """Return the name of an option in messages, with the key if it has one."""
    return f"{name}owner" if name.endswith(".") else name


@NAMES
def test_a_wrong_value_of_any_option_is_named_with_what_to_write(name: str) -> None:
    option = ATTRIBUTES[name]
    for use, value in product(uses_of(option), wrong_values(option)):
        with pytest.raises(InvalidConfig) as caught:
            Options.from_spark({mention(name).lower(): value}, use)
        text = str(caught.value)
        shown = "(not shown)" if option.secret else repr(value)
        assert text.startswith(f"option {mention(name)} = {shown}: ")
        assert text.endswith(f"write {option.kind.form}")
        assert "literal" not in text
        assert len(text) < 300


@NAMES
def test_an_option_without_a_value_is_named(name: str) -> None:
    option = ATTRIBUTES[name]
    for use in uses_of(option):
        with pytest.raises(
            InvalidConfig, match=rf"option {re.escape(mention(name))} has no value: leave it out, or wr"
        ):
            Options.from_spark({mention(name): None}, use)  # type: ignore[dict-item]


@NAMES
def test_an_option_where_it_does_nothing_is_named(name: str) -> None:
    for use in Use:
        if use not in ATTRIBUTES[name].uses and name.lower() not in SPARKS_OWN:
            with pytest.raises(
                InvalidConfig, match=f"option {re.escape(name)} does nothing here: leave it out. Options"
            ):
                Options.from_spark({mention(name): "1"}, use)


def test_where_the_cluster_is_must_be_said() -> None:
    with pytest.raises(InvalidConfig, match="option metadataServiceUri is missing"):
        Options.from_spark({"ledger": "1"}, Use.READ)


def test_what_may_be_a_secret_in_a_uri_is_not_shown() -> None:
    with pytest.raises(InvalidConfig, match="a user or a password in it") as caught:
        Options.from_spark({"metadataServiceUri": "etcd://user:secret@h:2379/ledgers", "ledger": "1"}, Use.READ)
    assert "secret" not in str(caught.value)


def test_a_stream_has_one_limit() -> None:
    both = {"maxEntriesPerTrigger": "5", "maxBytesPerTrigger": "5m"}
    assert "exclude each other" in refused(Use.STREAM, ledger="1", **both)
    twice = {"maxEntriesPerTrigger": "5", "maxOffsetsPerTrigger": "5"}
    assert "given twice" in refused(Use.STREAM, ledger="1", **twice)


def test_quorums_may_be_named_for_short() -> None:
    given = {
        "metadataServiceUri": "sqlite:///m",
        "sinkId": "s",
        "ensembleSize": "2",
        "writeQuorum": "2",
        "ackQuorum": "1",
    }
    options = Options.from_spark(given, Use.WRITE)
    assert (options.write_quorum_size, options.ack_quorum_size) == (2, 1)


def test_quorums_of_a_sink_go_together() -> None:
    assert "does not hold" in refused(Use.WRITE, ensembleSize="2")
    assert "belong together" in refused(Use.WRITE, txnAppId="a")


@pytest.mark.parametrize("name", ["password", "ledgerPassword", "passwordFil", "secret"])
def test_no_error_shows_what_may_be_a_password(name: str) -> None:
    assert "hunter2" not in refused(ledger="1", **{name: "hunter2"})
    assert "passwordFile" in refused(ledger="1", password="hunter2")


def test_every_option_is_documented_and_has_a_name_of_its_own() -> None:
    names = [option_name(each).lower() for each in fields(Options)]
    assert len(set(names)) == len(names)
    for each in fields(Options):
        assert option_of(each).text
        assert option_of(each).uses
