"""bookkeeper_tx.bookie.config_file: Java's keys, and what is refused with file, line, key and reason."""

from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.bookie import config_keys
from bookkeeper_tx.bookie.config_file import read_config_file
from bookkeeper_tx.config import MIB, BookieConfig
from bookkeeper_tx.errors import InvalidConfig


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def read_text(text: str) -> tuple[dict[str, Any], list[str]]:
        path, warnings = tmp_path / "bk_server.conf", []
        path.write_text(text)
        return read_config_file(str(path), warnings.append), warnings

    return read_text


@pytest.fixture
def refused(read: Any) -> Any:
    def refused_text(text: str) -> str:
        with pytest.raises(InvalidConfig) as caught:
            read(text)
        return str(caught.value)

    return refused_text


def test_keys_of_ours_become_fields_too(read: Any) -> None:
    values, warnings = read(
        "maxConnections=5\nmaxReplyBytes=7\nclientTimeoutMs=1500\nserverTcpKeepIdle=-1\nserverTcpKeepCnt=3"
    )
    assert warnings == []
    assert values == {"connections_max": 5, "replies_bytes_max": 7, "client_timeout_s": 1.5, "keepalive_count": 3}


def test_the_keys_of_lost_data_become_fields(read: Any) -> None:
    values, warnings = read(
        "dataIntegrityChecking=true\ndataIntegrityStampMissingCookies=true\nreplicationRateByBytes=1000\n"
        "localConsistencyCheckOnStartup=true\n"
    )
    assert warnings == []
    assert values == {
        "data_integrity_checking": True,
        "data_integrity_stamp_missing_cookies": True,
        "replication_rate_bytes": 1000,
        "local_consistency_check": True,
    }
    assert read("replicationRateByBytes=-1\n") == ({}, [])


def test_java_keys_become_fields(read: Any) -> None:
    values, warnings = read(
        """# a comment
        ! another
        metadataServiceUri=zk+hierarchical://h1:2181;h2:2181/ledgers
        journalDirectories=/data/journal
        ledgerDirectories = /data/ledgers
        bookiePort: 3182
        bookieId=b1
        advertisedAddress=b1.example
        zkTimeout=5000
        forceReadOnlyBookie=true
        nettyMaxFrameSizeBytes=1000000
        maxBatchReadSize=2000000
        journalMaxSizeMB=7
        journalPreAllocSizeMB=4
        journalMaxBackups=0
        skipListSizeLimit=1000
        logSizeLimit=2000
        pageLimit=-1
        openFileLimit=99
        flushInterval=1500
        httpServerEnabled=true
        httpServerPort=9000
        httpServerHost=::1
        indexDirectories=/data/ledgers
        readOnlyModeEnabled=true
        journalWriteData=false
        journalSyncData=false
        journalPageCacheFlushIntervalMSec=250
        readOnlyModeOnAnyDiskFullEnabled=false
        persistBookieStatusEnabled=true
        minUsableSizeForEntryLogCreation=11
        minUsableSizeForIndexFileCreation=12
        minUsableSizeForHighPriorityWrites=13
        """
    )
    assert warnings == []
    assert values == {
        "metadata_uri": "zk+hierarchical://h1:2181;h2:2181/ledgers",
        "journal_directory": "/data/journal",
        "ledger_directory": "/data/ledgers",
        "port": 3182,
        "bookie_id": "b1",
        "advertise": "b1.example",
        "metadata_timeout_s": 5.0,
        "read_only": True,
        "frame_size_max": 1_000_000,
        "batch_read_size_max": 2_000_000,
        "journal_size_bytes_max": 7 * MIB,
        "journal_preallocation_bytes": 4 * MIB,
        "journal_backups_max": 0,
        "write_cache_bytes_max": 1000,
        "entry_log_bytes_max": 2000,
        "open_index_files_max": 99,
        "flush_interval_s": 1.5,
        "http_server_enabled": True,
        "http_server_port": 9000,
        "http_server_host": "::1",
        "read_only_mode_enabled": True,
        "journal_data_written": False,
        "journal_data_synced": False,
        "page_cache_flush_interval_s": 0.25,
        "read_only_on_any_disk_full": False,
        "status_kept": True,
        "entry_log_free_bytes_min": 11,
        "index_file_free_bytes_min": 12,
        "high_priority_free_bytes_min": 13,
        "index_directories": ("/data/ledgers",),
    }
    assert BookieConfig(**values).port == 3182


def test_lines_may_go_on_and_values_may_be_empty(read: Any) -> None:
    assert read("ledgerDirectories=/a\\\n   /b\nbookieId=\ntlsProviderFactoryClass=\n") == (
        {"ledger_directory": "/a/b"},
        [],
    )


def test_several_journal_directories(read: Any) -> None:
    values, warnings = read("journalDirectories=/j1, /j2,/j3\nledgerDirectories=/l\nmetadataServiceUri=zk://h/l")
    assert warnings == []
    assert BookieConfig(**values).journal_directories == ("/j1", "/j2", "/j3")
    values, _ = read("journalDirectories=/j1,/j1\nledgerDirectories=/l\nmetadataServiceUri=zk://h/l")
    with pytest.raises(InvalidConfig, match="journalDirectories"):
        BookieConfig(**values)


def test_several_ledger_and_index_directories(read: Any) -> None:
    lines = "journalDirectories=/j\nledgerDirectories=/a, /b,/c\nmetadataServiceUri=zk://h/l\n"
    values, warnings = read(f"{lines}indexDirectories=/x,/y\nallowStorageExpansion=true")
    assert warnings == []
    config = BookieConfig(**values)
    assert (config.ledger_directories, config.index_directories) == (("/a", "/b", "/c"), ("/x", "/y"))
    assert config.storage_expansion_allowed
    assert BookieConfig(**read(lines)[0]).index_directories == ()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("ledgerDirectories=/a,/b,/a", "ledgerDirectories"),
        ("indexDirectories=/a,/a", "indexDirectories"),
        (
            "ledgerDirectories=/a,/b\nindexDirectories=/x\nledgerStorageClass=DbLedgerStorage",
            "2 ledgerDirectories and 1 indexDirectories",
        ),
        (
            "indexDirectories=/a,/b\nledgerStorageClass=DbLedgerStorage",
            "1 ledgerDirectories and 2 indexDirectories",
        ),
    ],
)
def test_directories_that_cannot_be_served_together(read: Any, line: str, why: str) -> None:
    rest = "" if "ledgerDirectories" in line else "ledgerDirectories=/l\n"
    values, _ = read(f"journalDirectories=/j\nmetadataServiceUri=zk://h/l\n{rest}{line}")
    with pytest.raises(InvalidConfig, match=why):
        BookieConfig(**values)


@pytest.mark.parametrize("key", ["ledgerDirectories", "journalDirectories", "indexDirectories"])
def test_a_directory_without_a_name_is_refused(read: Any, key: str) -> None:
    with pytest.raises(InvalidConfig, match=f"line 1: {key} = /a,,/b: a name is missing before or after a comma"):
        read(f"{key}=/a,,/b")


def test_zookeeper_servers_make_a_uri(read: Any) -> None:
    assert read("zkServers=h1:2181, h2:2182\n")[0]["metadata_uri"] == "zk+null://h1:2181;h2:2182/ledgers"
    assert read("zkServers=h1:1,h2:2/chroot")[0]["metadata_uri"] == "zk+null://h1:1;h2:2/chroot/ledgers"
    assert read("zkServers=h\nzkLedgersRootPath=/x/y")[0]["metadata_uri"] == "zk+null://h/x/y"
    assert read("zkServers=h\nmetadataServiceUri=zk://i/l")[0]["metadata_uri"] == "zk://i/l"


@pytest.mark.parametrize(
    "place", ["zkServers=h", "metadataServiceUri=zk://h/ledgers", "metadataServiceUri=zk+null://h/ledgers"]
)
def test_the_layout_of_the_file_is_that_of_the_uri(read: Any, place: str) -> None:
    for line in (
        "ledgerManagerType=flat",
        "ledgerManagerFactoryClass=org.apache.bookkeeper.meta.FlatLedgerManagerFactory",
    ):
        assert read(f"{place}\n{line}") == ({"metadata_uri": "zk+flat://h/ledgers"}, [])


def test_a_layout_of_the_file_beside_another_one_is_refused(read: Any) -> None:
    with pytest.raises(InvalidConfig, match=r"line 1: ledgerManagerType = flat: .*zk\+longhierarchical://h/l"):
        read("ledgerManagerType=flat\nmetadataServiceUri=zk+longhierarchical://h/l")
    (warning,) = read("ledgerManagerType=flat")[1]
    assert "does nothing without metadataServiceUri" in warning


@pytest.mark.parametrize("uri", ["sqlite:///x/y.db", "etcd://h/l"])
@pytest.mark.parametrize("layout", ["HierarchicalLedgerManagerFactory", "FlatLedgerManagerFactory"])
def test_only_zookeeper_has_layouts(read: Any, uri: str, layout: str) -> None:
    factory = f"ledgerManagerFactoryClass=org.apache.bookkeeper.meta.{layout}"
    values, (warning,) = read(f"metadataServiceUri={uri}\n{factory}")
    assert values == {"metadata_uri": uri}
    assert "line 2: ledgerManagerFactoryClass does nothing with " in warning


@pytest.mark.parametrize(
    "line",
    [
        "entryLogPerLedgerEnabled=true",
        "skipReplayJournalInvalidRecord=true",
        "ledgerStorageClass=com.example.OwnLedgerStorage",
        "logSizeLimit=1073741825",
        "tlsProviderFactoryClass=org.apache.bookkeeper.tls.TLSContextFactory",
        "bookieAuthProviderFactoryClass=org.apache.bookkeeper.sasl.SASLBookieAuthProviderFactory",
        "zkEnableSecurity=true",
        "zookeeper.client.secure=true",
        "useHostNameAsBookieID=true",
        "ledgerManagerType=legacyhierarchical",
        "ledgerManagerFactoryClass=com.example.OwnLedgerManagerFactory",
        "httpServerTlsEnable=true",
    ],
)
def test_what_would_change_durability_placement_or_access_is_refused(refused: Any, tmp_path: Path, line: str) -> None:
    key, _, value = line.partition("=")
    text = refused(f"bookiePort=1\n\n{line}\n")
    assert text.startswith(f"{tmp_path}/bk_server.conf, line 3: {key} = {value}: ")
    assert len(text) > len(f"{tmp_path}/bk_server.conf, line 3: {key} = {value}: ") + 20


@pytest.mark.parametrize(
    "line",
    [
        "journalFormatVersionToWrite=6",
        "fileInfoFormatVersionToWrite=1",
        "pageLimit=0",
        "pageLimit=-1",
        "openFileLimit=0",
        "dbStorage_rocksDB_format_version=5",
        "enableLocalTransport=false",
        "autoRecoveryDaemonEnabled=false",
        "ledgerManagerFactoryClass=org.apache.bookkeeper.meta.HierarchicalLedgerManagerFactory",
        "journalAlignmentSize=512",
        "httpServerClass=org.apache.bookkeeper.http.vertx.VertxHttpServer",
        "statsProviderClass=org.apache.bookkeeper.stats.prometheus.PrometheusMetricsProvider",
    ],
)
def test_what_we_do_anyway_passes_in_silence(read: Any, line: str) -> None:
    assert read(line) == ({}, [])


@pytest.mark.parametrize(
    ("key", "older", "unknown"), [("journalFormatVersionToWrite", 5, 7), ("fileInfoFormatVersionToWrite", 0, 2)]
)
def test_of_the_formats_of_files_the_newest_is_written(
    read: Any, refused: Any, key: str, older: int, unknown: int
) -> None:
    values, (warning,) = read(f"{key}={older}")
    assert values == {}
    assert f"line 1: {key} = {older}: version {unknown - 1} is written, which Java reads since 4.8" in warning
    assert f"must be 0 to {unknown - 1}" in refused(f"{key}={unknown}")


PULSAR_S = """
    bookiePort=3181 journalDirectory=data/j ledgerDirectories=data/l zkServers=localhost:2181 zkLedgersRootPath=/ledgers
    metadataServiceUri= advertisedAddress= allowLoopback=false useHostNameAsBookieID=false zkTimeout=30000
    zkEnableSecurity=false tlsCertFilesRefreshDurationSeconds=300 serverTcpNoDelay=true nettyMaxFrameSizeBytes=5253120
    numAddWorkerThreads=0 numReadWorkerThreads=8 numHighPriorityWorkerThreads=8 maxPendingReadRequestsPerThread=2500
    maxPendingAddRequestsPerThread=10000 readWorkerThreadsThrottlingEnabled=true enableBusyWait=false
    bookieDeathWatchInterval=1000 flushInterval=60000 minUsableSizeForIndexFileCreation=1073741824
    journalFormatVersionToWrite=5 journalMaxSizeMB=2048 journalMaxBackups=5 journalPreAllocSizeMB=16
    journalWriteBufferSizeKB=64 journalRemoveFromPageCache=true journalWriteData=true journalSyncData=true
    journalAdaptiveGroupWrites=true journalMaxGroupWaitMSec=1 journalBufferedWritesThreshold=524288
    numJournalCallbackThreads=8 journalAlignmentSize=4096 journalFlushWhenQueueEmpty=false
    ledgerStorageClass=org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage fileInfoFormatVersionToWrite=0
    openFileLimit=0 pageLimit=0 logSizeLimit=1073741824 entryLogFilePreallocationEnabled=true
    flushEntrylogBytes=33554432 readBufferSizeBytes=4096 writeBufferSizeBytes=65536 dbStorage_writeCacheMaxSizeMb=
    dbStorage_readAheadCacheMaxSizeMb= dbStorage_readAheadCacheBatchSize=1000 dbStorage_rocksDB_blockCacheSize=
    dbStorage_rocksDB_writeBufferSizeMB=64 dbStorage_rocksDB_sstSizeInMB=64 dbStorage_rocksDB_blockSize=65536
    dbStorage_rocksDB_bloomFilterBitsPerKey=10 dbStorage_rocksDB_numLevels=-1 dbStorage_rocksDB_numFilesInLevel0=4
    dbStorage_rocksDB_maxSizeInLevel1MB=256 gcWaitTime=900000 gcOverreplicatedLedgerWaitTime=86400000
    forceAllowCompaction=true compactionRate=1000 minorCompactionThreshold=0.2 minorCompactionInterval=3600
    compactionMaxOutstandingRequests=100000 majorCompactionThreshold=0.5 majorCompactionInterval=86400
    isThrottleByBytes=false compactionRateByEntries=1000 compactionRateByBytes=1000000 readOnlyModeEnabled=true
    diskCheckInterval=10000 httpServerEnabled=false httpServerPort=8000 prometheusStatsHttpPort=8000
    httpServerClass=org.apache.bookkeeper.http.vertx.VertxHttpServer auditorPeriodicBookieCheckInterval=86400
    statsProviderClass=org.apache.bookkeeper.stats.prometheus.PrometheusMetricsProvider
    auditorPeriodicCheckInterval=604800 rereplicationEntryBatchSize=100 openLedgerRereplicationGracePeriod=30000
    autoRecoveryDaemonEnabled=true lostBookieRecoveryDelay=0 useV2WireProtocol=true stickyReadSEnabled=true
    reorderReadSequenceEnabled=true reppDnsResolverClass=org.apache.pulsar.zookeeper.ZkBookieRackAffinityMapping
"""
"""What Pulsar's own ``conf/bookkeeper.conf`` sets, 4.0."""


def test_pulsar_s_own_file_is_read(read: Any) -> None:
    values, warnings = read(PULSAR_S.replace(" ", "\n"))
    config = BookieConfig(**values)
    assert config.ledger_storage_class == "DbLedgerStorage"
    assert (config.journal_directory, config.ledger_directory) == ("data/j", "data/l")
    assert config.metadata_uri == "zk+null://localhost:2181/ledgers"
    assert (config.port, config.gc_wait_s, config.major_compaction_threshold) == (3181, 900, 0.5)
    assert not values.keys() & {"index_pages_max", "open_index_files_max"}
    known = [each for each in warnings if "does nothing" in each or "is written" in each]
    unknown = [each.split()[-6] for each in warnings if each not in known]
    assert unknown == ["useV2WireProtocol", "stickyReadSEnabled", "reorderReadSequenceEnabled", "reppDnsResolverClass"]


@pytest.mark.parametrize(
    "name",
    [
        "org.apache.bookkeeper.bookie.SortedLedgerStorage",
        "org.apache.bookkeeper.bookie.InterleavedLedgerStorage",
        "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage",
    ],
)
def test_the_class_of_ledger_storage_is_java_s(read: Any, name: str) -> None:
    assert read(f"ledgerStorageClass={name}") == ({"ledger_storage_class": name.rpartition(".")[2]}, [])


def test_the_caches_of_db_ledger_storage_are_for_it_only(read: Any) -> None:
    caches = "dbStorage_writeCacheMaxSizeMb=64\ndbStorage_readAheadCacheMaxSizeMb=8\nskipListSizeLimit=1000\n"
    values, warnings = read(caches + "ledgerStorageClass=o.a.DbLedgerStorage\ndbStorage_rocksDB_blockSize=4096")
    assert values == {
        "ledger_storage_class": "DbLedgerStorage",
        "write_cache_bytes_max": 32 * MIB,
        "read_cache_bytes_max": 8 * MIB,
        "rocksdb_block_bytes": 4096,
    }
    assert warnings == []
    values, warnings = read(caches)
    assert values == {"write_cache_bytes_max": 1000}
    assert [each.partition(": ")[2].partition(" ")[0] for each in warnings] == [
        "dbStorage_writeCacheMaxSizeMb",
        "dbStorage_readAheadCacheMaxSizeMb",
    ]


def test_the_keys_of_the_scrubber_become_fields(read: Any) -> None:
    values = {"local_scrub_interval_s": 1000, "local_scrub_rate": 0.5}
    assert read("localScrubInterval=1000\nlocalScrubRateLimit=0.5\n") == (values, [])
    assert read("localScrubInterval=-1\nlocalScrubRateLimit=0\n")[1] == []
    for wrong, why in (("-1", "must be 0 or more"), ("inf", "must be 0 or more"), ("x", "not a number")):
        with pytest.raises(InvalidConfig, match=f"line 1: localScrubRateLimit = {wrong}: {why}"):
            read(f"localScrubRateLimit={wrong}\n")


def test_what_does_nothing_is_named_once_each(read: Any) -> None:
    values, warnings = read("maximumNumberOfActiveEntryLogs=1000\nenableStatistics=true\nnoSuchKey=1\n")
    assert values == {}
    assert ["line 1: maximumNumberOfActiveEntryLogs is not implemented" in warnings[0], len(warnings)] == [True, 3]
    assert "line 2: enableStatistics = true is not implemented" in warnings[1]
    assert "line 3: noSuchKey is not a known key" in warnings[2]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("bookiePort=abc", "not a whole number"),
        ("bookiePort=70000", "must be 0 to 65535"),
        ("flushInterval=0", "must be 1 or more"),
        ("nettyMaxFrameSizeBytes=12", "must be 1025 or more"),
        ("forceReadOnlyBookie=maybe", "must be true or false"),
        ("journalMaxBackups=-1", "must be 0 or more"),
        ("include=other.conf", "not included"),
        ("bookieId=${HOST}", "not expanded"),
        ("bookieId=a\nbookieId=b", "given twice, first in line 1"),
        ("zkServers=h\nzkLedgersRootPath=ledgers", "starts with /"),
    ],
)
def test_wrong_values_are_refused_with_file_line_key_and_reason(refused: Any, line: str, reason: str) -> None:
    last = line.splitlines()[-1]
    text = refused(line)
    assert f"line {len(line.splitlines())}: {last.partition('=')[0]} = {last.partition('=')[2]}: " in text
    assert reason in text


def test_lines_without_a_value_and_files_that_cannot_be_read(refused: Any, tmp_path: Path) -> None:
    assert "line 1: bookiePort: not of the form key=value" in refused("bookiePort")
    with pytest.raises(InvalidConfig, match=r"missing\.conf: cannot be read"):
        read_config_file(str(tmp_path / "missing.conf"), print)


def test_a_key_is_in_one_table_only() -> None:
    tables = [config_keys.MAPPED, config_keys.ONLY, config_keys.INERT, config_keys.NOT_IMPLEMENTED, config_keys.HANDLED]
    keys = [key for table in tables for key in table]
    assert sorted(keys) == sorted(set(keys))
    fields = BookieConfig.__attrs_attrs__
    assert {field for field, _ in config_keys.MAPPED.values()} <= {each.name for each in fields}


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("gcWaitTime=900000", {"gc_wait_s": 900.0}),
        ("gcOverreplicatedLedgerWaitTime=-1", {"gc_overreplicated_wait_s": -0.001}),
        ("minorCompactionThreshold=-0.5", {"minor_compaction_threshold": -0.5}),
        ("minorCompactionInterval=0", {"minor_compaction_interval_s": 0}),
        ("majorCompactionMaxTimeMillis=-1", {"major_compaction_s_max": 0}),
        ("majorCompactionMaxTimeMillis=1500", {"major_compaction_s_max": 1.5}),
        ("compactionRate=7", {"compaction_rate_entries": 7}),
        ("compactionRateByEntries=8\ncompactionRate=7", {"compaction_rate_entries": 8}),
        ("isThrottleByBytes=true", {"compaction_by_bytes": True}),
        ("isForceGCAllowWhenNoSpace=true", {"force_gc_when_full": True}),
    ],
)
def test_the_keys_of_garbage_collection_are_java_s(read: Any, line: str, values: dict[str, Any]) -> None:
    assert read(line) == (values, [])


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"minor_compaction_interval_s": 100.0}, "longer minorCompactionInterval, or a shorter gcWaitTime"),
        ({"gc_wait_s": 5000.0, "minor_compaction_interval_s": 0.0, "major_compaction_interval_s": 4000.0}, "major"),
        ({"minor_compaction_threshold": 0.9}, "0.9 must be below majorCompactionThreshold 0.8"),
        ({"minor_compaction_interval_s": 90_000.0}, "must be below majorCompactionInterval"),
    ],
)
def test_compactions_that_could_not_be_told_apart_are_refused(fields: dict[str, float], reason: str) -> None:
    with pytest.raises(InvalidConfig, match=reason):
        BookieConfig(metadata_uri="", journal_directory="", ledger_directory="", **fields)  # type: ignore[arg-type]


def test_thresholds_above_one_are_refused(refused: Any) -> None:
    assert "must be 1 at most" in refused("minorCompactionThreshold=1.5")
