"""Configuration of client and bookie: one frozen class each, every field documented under it.

Java's ``bk_server.conf`` keys are mapped to :class:`BookieConfig` in ``bookie/config_file.py``.
"""

from enum import Enum

from attrs import Factory, field, frozen
from attrs.validators import ge, gt, in_, le, lt, optional

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.security.authentication import BookieAuthProviderFactory, ClientAuthProviderFactory
from bookkeeper_tx.security.metadata_security import MetadataSecurity
from bookkeeper_tx.security.tls_config import TlsConfig
from protocol_specs import fields
from protocol_specs.disk.entry_log import LOG_SIZE_MAX

MIB = 1024 * 1024

LEDGER_STORAGE_CLASSES = ("SortedLedgerStorage", "InterleavedLedgerStorage", "DbLedgerStorage")
"""Java's classes of ledger storage.  The first two write the same files."""

QUARANTINE_S = 30.0
"""How long a client asks a bookie last that did not answer; long enough to spare most reads its time-out.  If one side
did not accept the other's certificate or credentials, a client without a reactor does not connect for as long."""


class WireProtocol(Enum):
    """The protocol version of a client."""

    V2 = "v2"
    """Fixed fields (docs/protocol/v2.md)."""
    V3 = "v3"
    """Protobuf messages (docs/protocol/v3.md)."""


@frozen(kw_only=True)
class ClientConfig:
    """Settings of a client.  ``_s`` in a name means seconds, ``_bytes`` and ``_size`` mean bytes."""

    protocol: WireProtocol = field(default=WireProtocol.V2, converter=WireProtocol)
    """The protocol version for adds and reads.  Requests that V2 lacks go over a second connection, of V3."""
    connect_timeout_s: float = field(default=10.0, validator=gt(0))
    """How long making a connection may take, and after it TLS and authentication together."""
    add_timeout_s: float = field(default=5.0, validator=gt(0))
    """How long a bookie may take to answer an add; then the ensemble changes."""
    read_timeout_s: float = field(default=5.0, validator=gt(0))
    """How long a bookie may take to answer a read; then the next replica is asked."""
    speculative_read_s_max: float = field(default=2.0, validator=ge(0))
    """How long a read waits at most for one bookie before the next replica is asked as well.  It waits for the 99th
    percentile of what that bookie took lately, at least 0.05 s, and this long while that is not known.  0: never."""
    metadata_timeout_s: float = field(default=10.0, validator=gt(0))
    """How long the metadata store may take to answer."""
    metadata_security: MetadataSecurity | None = None
    """TLS, password and access lists for ZooKeeper; None: in clear, and unknown to it."""
    frame_size_max: int = field(default=fields.FRAME_SIZE_MAX, validator=gt(1024))
    """Largest frame in bytes, its length word included; must match the bookies' ``nettyMaxFrameSizeBytes``."""
    outstanding_adds_max: int = field(default=10_000, validator=ge(1))
    """Appends of one writer that may wait for their quorum; more are held back until some are acknowledged."""
    outstanding_bytes_max: int = field(default=64 * MIB, validator=ge(1))
    """Payload bytes of these appends; a larger entry is sent alone."""
    outstanding_reads_max: int = field(default=2_000, validator=ge(1))
    """Entries that one range read asks for at a time."""
    read_bytes_max: int = field(default=64 * MIB, validator=ge(MIB))
    """Bytes that a read holds besides its result, and an iteration (``entries``, ``tail``) ahead of its caller, copies
    included.  One entry is read at a time if it is larger than that."""
    batch_read_enabled: bool = True
    """Whether reads may use batch read (BP-62); when False every read is made of single reads."""
    batch_read_count: int = field(default=100, validator=ge(1))
    """Entries asked for by one batch request of a range read."""
    batch_read_capability_expiry_s: float = field(default=300.0, validator=gt(0))
    """How long the client remembers whether a bookie serves batch read, and whether it knows ledger scopes."""
    explicit_lac_interval_s: float = field(default=0.0, validator=ge(0))
    """How often a writer publishes its last add confirmed if no append has carried it; 0: only when asked to."""
    reconnect_delay_s: float = field(default=0.5, validator=ge(0))
    """How long a bookie whose connection failed is left alone before the next attempt."""
    unsent_bytes_max: int = field(default=64 * MIB, validator=gt(0))
    """Bytes that may wait to be sent to one bookie; then new requests to it fail as unavailable."""
    tls: TlsConfig | None = None
    """Ask every bookie for TLS; a bookie without TLS is refused, with TlsFailed.  None: connections in clear."""
    auth: ClientAuthProviderFactory | None = None
    """The plugin to authenticate with; None for a cluster without authentication."""


@frozen(kw_only=True)
class BookieConfig:
    """Settings of a bookie.  Defaults are Java's unless the text says otherwise; Java's key stands in brackets.

    ``_s`` in a name means seconds, ``_bytes`` and ``_size`` mean bytes.
    """

    metadata_uri: str
    """Where the cluster's metadata is: ``sqlite:///PATH``, ``zk+hierarchical://HOST:PORT/ledgers``,
    ``etcd://HOST:PORT/ledgers``."""
    journal_directory: str
    """Directory of the journal; the files are in its ``current`` subdirectory."""
    ledger_directory: str
    """Directory of entry logs and indexes; may be the journal directory."""
    more_journal_directories: tuple[str, ...] = ()
    """The directories of journals 1, 2 and so on, if there are several: the records of a ledger are in the journal of
    its id modulo their count (``journalDirectories``)."""
    more_ledger_directories: tuple[str, ...] = ()
    """Further directories of entry logs, if there are several (``ledgerDirectories``)."""
    index_directories: tuple[str, ...] = ()
    """Directories of the indexes; empty: those of the entry logs (``indexDirectories``)."""
    storage_expansion_allowed: bool = False
    """Whether new, empty ledger and index directories are taken at a start (``allowStorageExpansion``)."""
    port: int = field(default=3181, validator=[ge(0)])
    """TCP port; 0 takes a free one, which is printed and registered."""
    listen: str = "127.0.0.1"
    """Address to listen on.  (Java listens on every address.)"""
    advertise: str | None = None
    """Host name or address that clients connect to; default: the address listened on."""
    bookie_id: str | None = None
    """Name of the bookie; default ``advertise:port``."""
    read_only: bool = False
    """Serve reads only (``forceReadOnlyBookie``)."""
    read_only_mode_enabled: bool = True
    """Serve reads only while disks are full or cannot be written; else the bookie ends (``readOnlyModeEnabled``)."""
    status_kept: bool = False
    """Keep over a restart that an operator has made the bookie read-only (``persistBookieStatusEnabled``)."""
    data_integrity_checking: bool = False
    """Whether a bookie that may have lost entries marks its ledgers, before it serves, and then copies from other
    bookies what it should have (``dataIntegrityChecking``)."""
    data_integrity_stamp_missing_cookies: bool = False
    """Whether such a bookie writes cookies that are missing, or name other directories of this bookie, when all its
    ledgers are marked; else it refuses to start (``dataIntegrityStampMissingCookies``)."""
    replication_rate_bytes: int = field(default=-1)
    """Bytes of entries that it copies in a second; 0 or less: as fast as they come (``replicationRateByBytes``)."""
    local_consistency_check: bool = False
    """Whether it is looked, at the start, if all entries of the indexes are in the entry logs
    (``localConsistencyCheckOnStartup``)."""
    local_scrub_interval_s: float = 0.0
    """About so many seconds lie between two looks at the same while the bookie serves; 0 or less: there are none
    (``localScrubInterval``)."""
    local_scrub_rate: float = field(default=60.0, validator=[ge(0), lt(float("inf"))])
    """Entries that these look at in a second; 0: as many as they can (``localScrubRateLimit``)."""
    frame_size_max: int = field(default=fields.FRAME_SIZE_MAX, validator=gt(1024))
    """Largest frame in bytes, its length word included (``nettyMaxFrameSizeBytes``)."""
    batch_read_size_max: int = field(default=fields.FRAME_SIZE_MAX, validator=gt(0))
    """Largest batch read reply in bytes (``maxBatchReadSize``)."""
    wire_compat: str = field(default="", validator=in_(("", "4.16")))
    """``4.16`` imitates a bookie without batch read: it closes the connection on operation 7."""
    journal_data_written: bool = True
    """Whether entries are written to the journal.  Else they are acknowledged while they are in memory only, and a kill
    loses those that are not flushed.  Keys, fences and explicit last adds confirmed are always written
    (``journalWriteData``)."""
    journal_data_synced: bool = True
    """Whether what is in the journal is acknowledged when it is synced.  Else when it is written, and a loss of power
    loses what is not synced, fences too (``journalSyncData``)."""
    page_cache_flush_interval_s: float = field(default=1.0, validator=gt(0))
    """How often the journal is synced without ``journal_data_synced`` (``journalPageCacheFlushIntervalMSec``)."""
    journal_size_bytes_max: int = field(default=2048 * MIB, validator=gt(0))
    """When a journal file passes this size, a new one is begun (``journalMaxSizeMB``)."""
    journal_preallocation_bytes: int = field(default=16 * MIB, validator=gt(0))
    """Zeros written ahead of the journal's end (``journalPreAllocSizeMB``)."""
    journal_backups_max: int = field(default=5, validator=ge(0))
    """Journal files kept although they are older than the mark (``journalMaxBackups``)."""
    write_cache_bytes_max: int = field(default=64 * MIB, validator=gt(0))
    """Bytes of the write cache, flushed when half full; twice that with the flushed part (``skipListSizeLimit``)."""
    read_cache_bytes_max: int = field(default=32 * MIB, validator=gt(0))
    """Entries read ahead from entry logs and kept for the next read."""
    entry_log_bytes_max: int = field(default=LOG_SIZE_MAX, validator=[gt(0), le(LOG_SIZE_MAX)])
    """An entry log that passes this size is rotated (``logSizeLimit``).  A location has 32 bits for the offset."""
    index_pages_max: int = field(default=2048, validator=gt(0))
    """Pages of 1024 entry locations, 8 KiB each, in whose memory locations are kept (``pageLimit``)."""
    open_index_files_max: int = field(default=512, validator=gt(0))
    """Index files, or table files of RocksDB, kept open (``openFileLimit``)."""
    ledger_storage_class: str = field(default="SortedLedgerStorage", validator=in_(LEDGER_STORAGE_CLASSES))
    """Where locations of entries are kept: ``DbLedgerStorage`` has them in RocksDB, ``SortedLedgerStorage`` and
    ``InterleavedLedgerStorage`` in a file for each ledger (``ledgerStorageClass``)."""
    rocksdb_block_cache_bytes: int = field(default=32 * MIB, validator=gt(0))
    """Memory of RocksDB for blocks that it has read; Java takes a tenth of its direct memory
    (``dbStorage_rocksDB_blockCacheSize``)."""
    rocksdb_write_buffer_bytes: int = field(default=32 * MIB, validator=gt(0))
    """Memory of RocksDB for locations that are in its log only; it may take twice as much.  Java takes 64 MiB
    (``dbStorage_rocksDB_writeBufferSizeMB``)."""
    rocksdb_table_bytes: int = field(default=64 * MIB, validator=gt(0))
    """Size of a table file of RocksDB (``dbStorage_rocksDB_sstSizeInMB``)."""
    rocksdb_block_bytes: int = field(default=64 * 1024, validator=gt(0))
    """Size of a block, which is read as a whole (``dbStorage_rocksDB_blockSize``)."""
    rocksdb_bloom_bits: int = field(default=10, validator=ge(0))
    """Bits of bloom filters for each key, 0 for none; Java's reads use them
    (``dbStorage_rocksDB_bloomFilterBitsPerKey``)."""
    rocksdb_compression_enabled: bool = True
    """Whether blocks are compressed, by LZ4 (``dbStorage_rocksDB_lz4CompressionEnabled``)."""
    flush_interval_s: float = field(default=10.0, validator=gt(0))
    """How long changed data may wait before it is flushed (``flushInterval``)."""
    disk_check_interval_s: float = field(default=10.0, validator=gt(0))
    """Seconds between two looks at the disks (``diskCheckInterval``)."""
    disk_usage_threshold: float = field(default=0.95, validator=[gt(0), le(1)])
    """Part of the ledger disk; when more is used the bookie is read-only, never with 1 (``diskUsageThreshold``)."""
    disk_usage_warn_threshold: float = field(default=0.90, validator=[gt(0), le(1)])
    """Part of a disk; while more is used no old journal files are kept, and there are no major compactions
    (``diskUsageWarnThreshold``)."""
    disk_usage_low_water: float | None = field(default=None, validator=optional([gt(0), le(1)]))
    """Part of the ledger disk, at most ``disk_usage_threshold``, which is the default; a full disk is written again
    when no more is used (``diskUsageLwmThreshold``)."""
    read_only_on_any_disk_full: bool = True
    """Whether one full ledger disk makes the bookie read-only; else only all of them
    (``readOnlyModeOnAnyDiskFullEnabled``, true since Java 4.18)."""
    entry_log_free_bytes_min: int = field(
        default=Factory(lambda self: self.entry_log_bytes_max, takes_self=True), validator=ge(0)
    )
    """On a full ledger disk compaction begins an entry log only with more room; default: one entry log
    (``minUsableSizeForEntryLogCreation``)."""
    index_file_free_bytes_min: int = field(default=100 * MIB, validator=ge(0))
    """On a full ledger disk index files are made only with more room (``minUsableSizeForIndexFileCreation``)."""
    high_priority_free_bytes_min: int = field(
        default=Factory(lambda self: self.entry_log_free_bytes_min, takes_self=True), validator=ge(0)
    )
    """With no more room on full ledger disks adds of high priority, of recovery, are refused as well
    (``minUsableSizeForHighPriorityWrites``)."""
    gc_wait_s: float = field(default=600.0, validator=gt(0))
    """Seconds between two garbage collections (``gcWaitTime``)."""
    gc_overreplicated_wait_s: float = 86_400.0
    """Seconds between two looks for ledgers that are only elsewhere now; 0 or less: never
    (``gcOverreplicatedLedgerWaitTime``)."""
    gc_metadata_rate: int = field(default=1000, validator=gt(0))
    """Ledgers that a garbage collection looks up in the metadata store in a second (``gcMetadataOpRateLimit``)."""
    minor_compaction_threshold: float = field(default=0.2, validator=le(1))
    """A minor compaction rewrites entry logs of which less than this part is in use; 0 or less: there are none
    (``minorCompactionThreshold``)."""
    minor_compaction_interval_s: float = 3600.0
    """Seconds between two minor compactions; 0 or less: there are none (``minorCompactionInterval``)."""
    minor_compaction_s_max: float = field(default=0.0, validator=ge(0))
    """After so many seconds a minor compaction begins no other log; 0: never (``minorCompactionMaxTimeMillis``)."""
    major_compaction_threshold: float = field(default=0.8, validator=le(1))
    """The same for major compactions (``majorCompactionThreshold``)."""
    major_compaction_interval_s: float = 86_400.0
    """Seconds between two major compactions; 0 or less: there are none (``majorCompactionInterval``)."""
    major_compaction_s_max: float = field(default=0.0, validator=ge(0))
    """As for minor compactions (``majorCompactionMaxTimeMillis``)."""
    compaction_by_bytes: bool = False
    """Whether compactions are held to a rate of bytes, not of entries (``isThrottleByBytes``)."""
    compaction_rate_entries: int = field(default=1000, validator=gt(0))
    """Entries that a compaction copies in a second (``compactionRateByEntries``, ``compactionRate``)."""
    compaction_rate_bytes: int = field(default=1_000_000, validator=gt(0))
    """Bytes that a compaction copies in a second (``compactionRateByBytes``)."""
    compaction_outstanding_max: int = field(default=100_000, validator=gt(0))
    """Entries that a compaction copies before the index points to them (``compactionMaxOutstandingRequests``)."""
    force_gc_when_full: bool = False
    """Whether compactions that were asked for are made on a full disk as well (``isForceGCAllowWhenNoSpace``)."""
    use_target_entry_log_size: bool = False
    """Whether a small entry log counts as one of ``entry_log_bytes_max`` bytes when it is decided what to compact
    (``useTargetEntryLogSizeForGc``)."""
    metadata_timeout_s: float = field(default=10.0, validator=gt(0))
    """How long the metadata store may take to answer, and how long the session in ZooKeeper or the lease in etcd lives
    on in silence (``zkTimeout``)."""
    metadata_security: MetadataSecurity | None = None
    """TLS, password and access lists for ZooKeeper; None: in clear, and unknown to it."""
    connection_requests_bytes_max: int = field(default=32 * MIB, validator=gt(0))
    """Bytes of requests of all clients that may wait for the journal; later ones are held back
    (``maxQueuedBytes``, a key of ours)."""
    held_bytes_per_connection_max: int = field(default=1 * MIB, validator=gt(0))
    """Bytes of one client's requests that are held back; then nothing is read from the client
    (``maxHeldBytesPerConnection``, a key of ours)."""
    held_bytes_max: int = field(default=32 * MIB, validator=gt(0))
    """Bytes of all clients' requests that are held back; then nothing is read from those that send more
    (``maxHeldBytes``, a key of ours)."""
    reads_bytes_per_connection_max: int = field(default=16 * MIB, validator=gt(0))
    """Bytes of entries that one client's requests may have while they wait, for the disk or for the client to take its
    replies; then its next reads wait for them (``maxReadBytesPerConnection``, a key of ours)."""
    reads_bytes_max: int = field(default=128 * MIB, validator=gt(0))
    """Bytes of entries that all clients' requests may have while they wait; more are answered ETOOMANYREQUESTS
    (``maxReadBytes``, a key of ours)."""
    frames_bytes_max: int = field(default=96 * MIB, validator=gt(0))
    """Bytes of all clients' long frames that are not complete; then the next ones wait for room.  A long frame has more
    than 256 KiB, and less if there are many connections (``maxFrameBytes``, a key of ours)."""
    replies_bytes_max: int = field(default=128 * MIB, validator=gt(0))
    """Bytes of replies that all clients together do not take, and of their next requests; then the client that has
    taken nothing for longest is closed (``maxReplyBytes``, a key of ours)."""
    client_timeout_s: float = field(default=30.0, validator=gt(0))
    """How long a client may take nothing while replies wait for it, or take to complete a frame (and a second more for
    64 KiB of it that have come); then its connection is closed (``clientTimeoutMs``, a key of ours)."""
    connections_max: int = field(default=2000, validator=ge(1))
    """Connections of all clients; more are closed at once (``maxConnections``, a key of ours)."""
    connections_per_address_max: int = field(default=1000, validator=ge(1))
    """Connections from one address (``maxConnectionsPerAddress``, a key of ours)."""
    keepalive_enabled: bool = True
    """Let the system notice clients that vanish without a word (``serverSockKeepalive``)."""
    keepalive_idle_s: int = field(default=60, validator=ge(1))
    """After so many seconds of silence it asks (``serverTcpKeepIdle``; Java's default is the system's, 2 hours)."""
    keepalive_interval_s: int = field(default=10, validator=ge(1))
    """Seconds until it asks again (``serverTcpKeepIntvl``)."""
    keepalive_count: int = field(default=6, validator=ge(1))
    """So many questions without an answer end the connection (``serverTcpKeepCnt``)."""
    long_poll_timeout_max_s: float = field(default=60.0, validator=gt(0))
    """How long a long poll may wait, whatever its client asks for."""
    long_polls_per_connection_max: int = field(default=1000, validator=ge(1))
    """Long polls of one client that may wait; more are answered ETOOMANYREQUESTS."""
    long_polls_max: int = field(default=50_000, validator=ge(1))
    """Long polls of all clients that may wait; each takes about a KiB (``maxLongPolls``, a key of ours)."""
    http_server_enabled: bool = False
    """Serve metrics over HTTP at ``/metrics``, to everybody (``httpServerEnabled``)."""
    http_server_port: int = field(default=8080, validator=[ge(0), le(65535)])
    """Its TCP port; 0 takes a free one, which is logged (``httpServerPort``)."""
    http_server_host: str = "127.0.0.1"
    """Address it listens on (``httpServerHost``; Java's default is every address)."""
    tls: TlsConfig | None = None
    """Serve TLS to clients that ask for it; None refuses it.  TLS is not required: only a plugin can require it."""
    auth: BookieAuthProviderFactory | None = None
    """The plugin that clients must authenticate with; None takes everybody (``bookieAuthProviderFactoryClass``)."""
    client_tls: TlsConfig | None = None
    """TLS to ask other bookies for, where this one reads their entries: for copies of what it has lost, and for HTTP
    (``clientTrustStore``)."""
    client_auth: ClientAuthProviderFactory | None = None
    """The plugin to authenticate with at other bookies (``clientAuthProviderFactoryClass``)."""
    handshake_timeout_s: float = field(default=30.0, validator=gt(0))
    """How long a client may take for TLS and authentication together; then its connection is closed
    (``handshakeTimeoutMs``, a key of ours: Java waits for ever)."""

    def __attrs_post_init__(self) -> None:
        if self.port > 65535:
            raise InvalidConfig(f"port {self.port} is not a TCP port: give one from 0 to 65535")
        if len({self.journal_directory, *self.more_journal_directories}) <= len(self.more_journal_directories):
            raise InvalidConfig("two journals cannot be in one directory: name each of journalDirectories once")
        self._check_ledger_directories()
        if self.read_only and not self.read_only_mode_enabled:
            raise InvalidConfig("forceReadOnlyBookie needs the read-only mode: leave out readOnlyModeEnabled=false")
        if (self.disk_usage_low_water or 0) > self.disk_usage_threshold:
            raise InvalidConfig(
                f"a full disk ({self.disk_usage_threshold}) would be written again at once "
                f"({self.disk_usage_low_water}): give a lower diskUsageLwmThreshold"
            )

        self._check_compactions()

    def _check_ledger_directories(self) -> None:
        for key, named in (
            ("ledgerDirectories", self.ledger_directories),
            ("indexDirectories", self.index_directories),
        ):
            if len(set(named)) < len(named):
                raise InvalidConfig(f"one directory is named twice: name each of {key} once")
        ledgers, indexes = len(self.ledger_directories), len(self.index_directories)
        if self.ledger_storage_class == "DbLedgerStorage" and indexes not in (0, ledgers):
            raise InvalidConfig(
                "DbLedgerStorage has the index of each ledger directory in an index directory of its own: there are "
                f"{ledgers} ledgerDirectories and {indexes} indexDirectories; name as many, or leave out the latter"
            )

    def _check_compactions(self) -> None:
        """Raise InvalidConfig for compactions that could not be told apart, or would come before their collection."""
        minor, major = self.minor_compaction_threshold, self.major_compaction_threshold
        minor_s, major_s = self.minor_compaction_interval_s, self.major_compaction_interval_s
        for name, threshold, interval_s in (("minor", minor, minor_s), ("major", major, major_s)):
            if threshold > 0 and 0 < interval_s < self.gc_wait_s:
                raise InvalidConfig(
                    f"{name} compactions every {interval_s} s are too short for garbage collections every "
                    f"{self.gc_wait_s} s: give a longer {name}CompactionInterval, or a shorter gcWaitTime"
                )
        if min(minor, major, minor_s, major_s) > 0:
            if minor >= major:
                raise InvalidConfig(f"minorCompactionThreshold {minor} must be below majorCompactionThreshold {major}")
            if minor_s >= major_s:
                raise InvalidConfig(
                    f"minorCompactionInterval {minor_s} must be below majorCompactionInterval {major_s}"
                )

    @property
    def journal_directories(self) -> tuple[str, ...]:
        """The directories of all journals."""
        return (self.journal_directory, *self.more_journal_directories)

    @property
    def ledger_directories(self) -> tuple[str, ...]:
        """The directories of all entry logs."""
        return (self.ledger_directory, *self.more_ledger_directories)

    @property
    def serves_batch_read(self) -> bool:
        """Whether batch read is served: not when an older release is imitated."""
        return not self.wire_compat
