"""The value of a ledger in RocksDB: the same state as in the header of an index file."""

from functools import lru_cache

from google.protobuf.message import DecodeError

from bookkeeper_tx.bookie.storage.ledger_index import HEADERS_MAX, IndexHeader
from bookkeeper_tx.errors import StorageFailed
from bookkeeper_tx.model import ledger_name
from protocol_specs.codecs import Malformed
from protocol_specs.disk.formats_pb2 import LedgerData
from protocol_specs.entry import version


@lru_cache(HEADERS_MAX)
def packed(header: IndexHeader) -> bytes:
    """Return the value that says what ``header`` says."""
    data = LedgerData(exists=True, fenced=header.fenced, masterKey=header.master_key)
    if header.explicit_lac:
        data.explicitLac = header.explicit_lac
    if header.limbo:
        data.limbo = True
    return data.SerializeToString()


def unpacked(ledger_id: int, value: bytes) -> IndexHeader:
    """Return what the value of a ledger says; raises StorageFailed."""
    name = ledger_name(ledger_id)
    try:
        data = LedgerData.FromString(value)
        if data.explicitLac:
            version.explicit_lac_of(data.explicitLac)
    except (DecodeError, Malformed) as error:
        raise StorageFailed(f"RocksDB has no valid state of ledger {name}: {error}") from error
    if not data.IsInitialized():
        raise StorageFailed(f"RocksDB has no valid state of ledger {name}: it is cut short")
    return IndexHeader(data.masterKey, data.fenced, data.explicitLac, data.limbo)
