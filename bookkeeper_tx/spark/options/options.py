"""All options of the Spark formats: one table, from which they are parsed and documented.

A field is an option; its name in Spark is the field's, spelt ``likeThis``.  :meth:`Options.from_spark` reads them, and
``python -m bookkeeper_tx.spark.document`` puts the table into docs/guides/spark.md.
"""
# The calls declare fields, as attrs' own do.
# ruff: noqa: RUF009

from collections.abc import Mapping
from enum import Enum

from attrs import frozen

from bookkeeper_tx.config import MIB
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.spark.options.entry_ranges import ENTRY_RANGES, EntryRanges
from bookkeeper_tx.spark.options.offsets import ENDS, STARTS, Offsets
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
    LedgerSpan,
    Use,
    choice,
    number,
    option,
)
from bookkeeper_tx.spark.options.option_parsing import parse

_TABLES = Use.LEDGERS | Use.REPLICAS
_READERS = Use.ENTRIES | Use.REPLICAS


class ReadMode(Enum):
    """How far a ledger is read."""

    LAC = "lac"
    CLOSED = "closed"


@frozen(kw_only=True)
class Options:
    """The options of one ``load`` or ``save``, read and checked."""

    # Which cluster, and which ledgers
    metadata_service_uri: str = option(
        METADATA_URI,
        Use.CLUSTER,
        "Where the cluster's metadata is: `zk+hierarchical://host:2181/ledgers` or `sqlite:///path`",
        default="",
        shown="required",
        required=Use.CLUSTER,
    )
    metadata_timeout_ms: int = option(TIMEOUT, Use.CLUSTER, "How many ms the metadata store may take to answer", 10_000)
    ledger: int | None = option(LEDGER, Use.ENTRIES | _TABLES, "One ledger")
    ledgers: tuple[LedgerSpan, ...] | None = option(
        LEDGERS, Use.ENTRIES | _TABLES, "Several ledgers; of a range, those that exist. `0-` is all of them"
    )
    ledger_metadata: Mapping[str, str] = option(
        TEXT,
        Use.ENTRIES | _TABLES,
        "`ledgerMetadata.<key>`: all ledgers whose custom metadata has this value under this key, in capitals or not;"
        " with several keys, those that have all of them",
        prefix=True,
    )
    manifest: str | None = option(
        TEXT, Use.ENTRIES | _TABLES, "The ledgers that the sink of this `sinkId` has published, and no others"
    )
    scope: int | None = option(
        SCOPE,
        Use.ENTRIES | _TABLES,
        "The scope of `ledgers` and `ledgerMetadata.` (BP-34); Java knows only scope 0",
        0,
    )
    ids: tuple[LedgerSpan, ...] = option(
        LEDGERS,
        Use.ORPHANS,
        "Which ledgers every bookie is asked for, those that have metadata left out. `0-` ends at the highest id that"
        " has metadata",
        default=(),
        shown="required",
        required=Use.ORPHANS,
    )
    path: str | None = option(TEXT, Use.ENTRYLOG, "A file, a directory or a pattern of them")
    paths: tuple[str, ...] = option(PATHS, Use.ENTRYLOG, "Several paths", default=(), shown="")

    # What is read of them
    starting_offsets: Offsets | None = option(
        STARTS, Use.ENTRIES, "Where to begin", shown="`earliest`; streams: `latest`"
    )
    ending_offsets: Offsets | None = option(
        ENDS,
        Use.READ,
        "Where to end: the first entry that is *not* read",
        shown="`latest`",
    )
    read_mode: ReadMode = option(
        choice(ReadMode),
        _READERS,
        "`lac`: open ledgers are read to their last add confirmed; `closed`: they are left out",
        ReadMode.LAC,
        shown="`lac`",
    )
    allow_recovery: bool = option(
        BOOLEAN,
        Use.READ,
        "Open ledgers are recovered first: **their writers are fenced**, and they are closed",
        False,
    )
    fail_on_data_loss: bool = option(
        BOOLEAN,
        Use.ENTRIES,
        "A ledger that does not exist, and an entry that no bookie has in good order, fail the query; `false`: they are"
        " left out, counted in the log, and shown by `includeLost`",
        True,
    )
    max_entries_per_trigger: int | None = option(
        COUNT, Use.STREAM, "Entries of one micro-batch", alias="maxOffsetsPerTrigger"
    )
    max_bytes_per_trigger: int | None = option(
        SIZE, Use.STREAM, "About how many payload bytes of one micro-batch; instead of `maxEntriesPerTrigger`"
    )

    # Columns
    include_payload: bool = option(BOOLEAN, Use.ENTRIES | Use.ENTRYLOG, "Column `payload`", True)
    include_scope: bool = option(BOOLEAN, Use.ENTRIES, "Column `scope_id`: the upper half of the ledger id", False)
    include_last_add_confirmed: bool = option(
        BOOLEAN, Use.ENTRIES, "Column `lac`: the last add confirmed that the entry was written with", False
    )
    include_length: bool = option(
        BOOLEAN, Use.ENTRIES, "Column `length`: payload bytes of the ledger up to and including this entry", False
    )
    include_digest: bool = option(
        BOOLEAN,
        Use.ENTRIES | Use.ENTRYLOG,
        "Column `digest_ok`: false for an entry that bookies have, but none in good order. Without this column such an"
        " entry is lost (`failOnDataLoss`). For entry logs: whether the digest matches; null for a MAC",
        False,
    )
    include_bookie: bool = option(BOOLEAN, Use.ENTRIES, "Column `bookie`: the one that gave the entry", False)
    include_lost: bool = option(
        BOOLEAN,
        Use.ENTRIES,
        "Column `lost`: null, or why an entry could not be read. Lost entries are rows then."
        " Only with `failOnDataLoss=false`",
        False,
    )

    per_entry: bool = option(
        BOOLEAN, Use.REPLICAS, "A row for each copy of each entry, and not for each bookie's part of a ledger", False
    )
    entries: EntryRanges | None = option(
        ENTRY_RANGES, Use.REPLICAS, "Only these entries of the named ledgers; other ledgers are read whole"
    )

    # How it is spread and read
    min_partitions: int | None = option(
        COUNT,
        _READERS | Use.LEDGERS | Use.ENTRYLOG,
        "Cut into at least so many tasks, if there is enough to read",
    )
    max_entries_per_partition: int = option(COUNT, _READERS, "Entries of one task", 1_000_000)
    max_bytes_per_partition: int = option(
        SIZE, _READERS, "About how many payload bytes of one task", 128 * MIB, shown="`128m`"
    )
    pushdown: bool = option(
        BOOLEAN,
        Use.READ | _TABLES,
        "Filters on ids decide which entries are read at all. **Only if one query uses the DataFrame**: Spark up to 4.3"
        " answers the next query, with another filter or none, with the rows of the first",
        False,
    )
    batch: bool = option(BOOLEAN, _READERS, "Ask bookies for many entries at once (BP-62) where they can", True)
    batch_rows: int = option(
        number(1, 1_000_000), _READERS | Use.LEDGERS | Use.ENTRYLOG, "Rows of one Arrow batch", 10_000
    )
    batch_bytes: int = option(
        BATCH_SIZE, _READERS | Use.ENTRYLOG, "Payload bytes of one Arrow batch", 8 * MIB, shown="`8m`"
    )
    pipeline_window: int = option(COUNT, _READERS, "Requests that wait for one bookie's answer", 512)
    max_entries_per_second_per_bookie: int | None = option(
        COUNT,
        _READERS | Use.SINK | Use.ORPHANS,
        "Entries that one task asks one bookie for, or sends it, in a second",
    )
    max_bytes_per_second_per_bookie: int | None = option(
        SIZE, _READERS | Use.SINK, "Bytes that one task takes from one bookie, or sends it, in a second"
    )

    # How bookies are spoken to
    password_file: str | None = option(
        TEXT,
        _READERS | Use.SINK,
        "File on the driver whose first line is the ledgers' password",
        shown="no password",
        secret=True,
    )
    digest_type: DigestType | None = option(
        DIGEST,
        _READERS | Use.SINK | Use.ENTRYLOG,
        "How entries are protected. Needed for entry logs, and for ledgers whose metadata does not name it",
        shown="as the metadata says; `crc32c` to write and for entry logs",
    )
    read_timeout_ms: int = option(
        TIMEOUT,
        _READERS,
        "How many ms a bookie may take to answer, and to be connected to (at most 10 s, or"
        " `bookkeeper.client.clientConnectTimeoutMillis`); after that the next one is asked",
        10_000,
    )
    num_retries: int = option(number(0, 1000), _READERS, "How often all bookies that have an entry are asked again", 3)
    retry_interval_ms: int = option(WAIT, _READERS, "How many ms to wait before each of these retries", 200)
    client_keys: Mapping[str, str] = option(
        TEXT,
        Use.CLUSTER,
        "`bookkeeper.client.<key>`: a key of Java's client configuration, as `readEntryTimeoutSec`,"
        " `addEntryTimeoutSec`, `clientConnectTimeoutMillis`, `nettyMaxFrameSizeBytes`, `useV2WireProtocol`;"
        " those of TLS and SASL, of bookies and of ZooKeeper: [secured clusters](spark.md#secured-clusters)",
        prefix=True,
    )

    # Writing
    ensemble_size: int = option(COUNT, Use.SINK, "Bookies of a ledger", 3)
    write_quorum_size: int = option(COUNT, Use.SINK, "Bookies that get an entry", 3, alias="writeQuorum")
    ack_quorum_size: int = option(COUNT, Use.SINK, "Bookies that must have an entry", 2, alias="ackQuorum")
    sink_id: str | None = option(TEXT, Use.SINK, "Name of the sink, under which its ledgers are published")
    max_ledger_bytes: int | None = option(SIZE, Use.SINK, "Payload bytes of a ledger; then another is begun")
    max_ledger_entries: int | None = option(COUNT, Use.SINK, "Entries of a ledger; then another is begun")
    txn_app_id: str | None = option(TEXT, Use.WRITE, "With `txnVersion`: a write that was published is not repeated")
    txn_version: int | None = option(number(0), Use.WRITE, "Number of the write, counted by `txnAppId`")

    @classmethod
    def from_spark(cls, values: Mapping[str, str], use: Use) -> "Options":
        """Return the options that Spark hands over.

        ``use`` is their use; a data source that does not know it yet gives all that are possible (``Use.ENTRIES``).
        Names may be in capitals or not.  Raises InvalidConfig, which names the option, its value unless that is a
        secret, and the form to write instead.
        """
        return parse(cls, values, use)
