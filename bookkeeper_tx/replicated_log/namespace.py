"""The logs of a cluster: made, opened, read, truncated, deleted."""

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import suppress
from typing import Any, Generic, TypeVar
from uuid import uuid4

from attrs import frozen

from bookkeeper_tx.client.core import AnyClient
from bookkeeper_tx.client.promised import operation
from bookkeeper_tx.driver import Promise
from bookkeeper_tx.errors import BookKeeperError, LogExists, MetadataConflict, MetadataUnavailable, NoSuchLog
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.quorums.quorum import Quorum
from bookkeeper_tx.replicated_log import campaigning, log_reader, truncation
from bookkeeper_tx.replicated_log.add_segment import SegmentAdder
from bookkeeper_tx.replicated_log.dlsn import DLSN, LogRecord, require_dlsn
from bookkeeper_tx.replicated_log.election_record import LEASE_S
from bookkeeper_tx.replicated_log.leadership import Leadership
from bookkeeper_tx.replicated_log.log_metadata import LogMetadata
from bookkeeper_tx.replicated_log.log_properties import LogProperties
from bookkeeper_tx.replicated_log.log_writer import LogWriter
from bookkeeper_tx.replicated_log.rolling import RollingPolicy
from bookkeeper_tx.replicated_log.segment_list import SegmentList, require_name

Writer = TypeVar("Writer", bound=LogWriter)
Lead = TypeVar("Lead", bound=Leadership)
T = TypeVar("T")


@frozen
class LogState:
    """What the list of a log says."""

    name: str
    first_dlsn: DLSN
    """Where the log starts."""
    segment_count: int
    """The ledgers that it has; of one that is being deleted, those of which it is not certain that they are gone."""
    properties: LogProperties
    deleting: bool = False
    """Whether its deletion was begun, and has not ended: delete it again."""


class Namespace(Generic[Writer, Lead]):
    """The logs of one cluster.  A log is an ordered list of ledgers, with one writer at a time.

    :param client: a client of the cluster, of the world that this is for
    :param password: of the ledgers of the logs
    """

    def __init__(self, client: AnyClient, password: bytes = b"") -> None:
        self._client = client
        self._password = password

    @operation
    async def create_log(
        self,
        name: str,
        ensemble_size: int = 3,
        write_quorum_size: int = 3,
        ack_quorum_size: int = 2,
        digest_type: DigestType = DigestType.CRC32C,
    ) -> None:
        """Make a log, empty.

        :param name: printable text, of at most 255 characters
        :param ensemble_size: bookies that store each of its ledgers; this and the others are those of
            :meth:`bookkeeper_tx.BookKeeper.create_ledger`
        :param write_quorum_size: bookies that each record goes to
        :param ack_quorum_size: of these, how many must have a record on disk before it is acknowledged
        :param digest_type: protects the records against corruption
        :raises LogExists: there is one of this name
        :raises InvalidArgument: name or sizes are out of range
        """
        Quorum(ensemble_size, write_quorum_size, ack_quorum_size)
        sizes = ensemble_size, write_quorum_size, ack_quorum_size
        properties = LogProperties(uuid4().hex, *sizes, digest_type)
        try:
            await LogMetadata(self._client.metadata, require_name(name), properties).create()
        except MetadataConflict:
            with suppress(NoSuchLog):
                if (await self.log_state(name)).deleting:
                    text = f"log {name} is half deleted: its deletion was begun and has not ended; delete it again"
                    raise LogExists(text) from None
            raise LogExists(f"log {name} exists already") from None

    @operation
    async def open_log_writer(
        self,
        name: str,
        *,
        roll_size_bytes: float = RollingPolicy().size_bytes_max,
        roll_interval_s: float = RollingPolicy().interval_s,
        still_leads: Callable[[], bool] | None = None,
    ) -> Writer:
        """Take a log over, and give its writer: nobody who wrote it before writes any more.

        The list of ledgers is read, its last two are fenced, a new one is created and added, and the list is written
        back by compare-and-set; if somebody else has changed it, all that is done again.

        :param roll_size_bytes: payload bytes after which the log goes on in another ledger; the first write behind them
            begins that, and goes into the ledger before
        :param roll_interval_s: seconds after which it does, if anything was written
        :param still_leads: for those who have an election: asked before all that, each time
        :raises NoSuchLog: there is none
        :raises LogFenced: ``still_leads`` says no
        :raises InvalidArgument: size or interval is not above 0
        :raises BookKeeperError: the errors of :meth:`bookkeeper_tx.BookKeeper.open_ledger` and ``create_ledger``
        """
        policy = RollingPolicy(roll_size_bytes, roll_interval_s)
        adder = SegmentAdder(self._client, await self._find(name), self._password)
        try:
            writer, segment = await adder.take(still_leads or _leads)
        except MetadataUnavailable:
            raise  # the ledger that was made may be in the list
        except BookKeeperError:
            await adder.drop()
            raise
        return LogWriter(adder, writer, segment, policy)  # type: ignore[return-value]

    def read(self, name: str, start: DLSN | None = None, *, follow: bool = False) -> AsyncGenerator[LogRecord, None]:
        """Iterate over the records of a log up to the last that is confirmed now.

        :param start: the position of the first; default: the first of the log
        :param follow: go on with the records that come, for ever
        :raises InvalidArgument: ``start`` is no position
        :raises AlreadyTruncated: what ``start`` names, or what comes next, was truncated
        :raises NoSuchLog: there is none, or it was deleted
        :raises BookKeeperError: the errors of :meth:`bookkeeper_tx.LedgerReader.entries` and ``tail``
        """
        if start is not None:
            require_dlsn(start)
        return log_reader.read_log(self._client, require_name(name), self._password, start, follow)

    @operation
    async def first_dlsn(self, name: str) -> DLSN:
        """Give the position at which a log starts.  Fails with :exc:`.NoSuchLog`."""
        segments = (await (await self._find(name)).read()).segments
        return DLSN(segments.first_sequence_no, 0)

    @operation
    async def last_dlsn(self, name: str) -> DLSN | None:
        """Give the position of the last record that is confirmed, None for an empty log.  Fails with NoSuchLog."""
        return await log_reader.last_dlsn(self._client, await self._find(name), self._password)

    @operation
    async def dlsn_at(self, name: str, epoch_s: float) -> DLSN:
        """Give a position from which a reader misses nothing that was written from a time on.

        It is the start of the ledger before the one that was the newest then, or of the log: what comes first is
        older.  A writer adds a ledger while it writes on in the one before.

        :param epoch_s: seconds since 1970, by the clocks of the writers
        :raises NoSuchLog: there is none
        """
        metadata = await self._find(name)
        segments = (await metadata.read()).segments
        return DLSN(await metadata.at_time(segments, int(epoch_s * 1000)), 0)

    @operation
    async def truncate(self, name: str, dlsn: DLSN, deleted: Callable[[], object] | None = None) -> DLSN:
        """Delete the ledgers before the one of ``dlsn``; gives the position at which the log starts now.

        Ledgers are deleted as a whole, so records shortly before ``dlsn`` stay; so does the ledger that is being
        written.  The bookies give the space back when they collect garbage next.

        :param deleted: called after each ledger that was deleted
        :raises InvalidArgument: the log has no such ledger yet
        :raises NoSuchLog: there is none
        """
        sequence_no = require_dlsn(dlsn).log_segment_sequence_no
        metadata = await self._find(name)
        first = await truncation.truncate(self._client, metadata, sequence_no, deleted or _unseen)
        return DLSN(first, 0)

    @operation
    async def delete_log(self, name: str, deleted: Callable[[], object] | None = None) -> None:
        """Fence a log's writer, and delete its ledgers and the log.

        :param deleted: called after each ledger that was deleted
        :raises NoSuchLog: there is none
        :raises MetadataCorrupt: the record of a ledger cannot be understood.  If it is one of the last two, nothing is
            deleted; if it may have been made for the log, or by somebody else, it alone is left.  Mend or delete it,
            and call this again
        :raises BookKeeperError: the errors of :meth:`bookkeeper_tx.BookKeeper.open_ledger`; with a wrong password,
            nothing is deleted
        """
        await truncation.delete(self._client, await self._find(name), self._password, deleted or _unseen)

    @operation
    async def list_logs(self) -> list[str]:
        """Give the names of all logs, sorted.

        Those whose records cannot be understood are among them: with their names, every other call fails with
        :exc:`.MetadataCorrupt`.
        """
        return await LogMetadata.names(self._client.metadata)

    @operation
    async def log_state(self, name: str) -> LogState:
        """Give what the list of a log says, also of one that is being deleted.  Fails with :exc:`.NoSuchLog`."""
        metadata = await self._find(name)
        found = await metadata.look()
        segments = SegmentList(deleting=True) if found is None else found.segments
        first = segments.first_sequence_no
        count = segments.next_sequence_no - (segments.deleted_end if segments.deleting else first)
        return LogState(name, DLSN(first, 0), count, metadata.properties, segments.deleting)

    @operation
    async def campaign(self, name: str, candidate: str | None = None, *, lease_s: float = LEASE_S) -> Lead:
        """Stand for election, and give the lead once nobody else has it: one candidate leads at a time.

        The record of the election is read ten times in the lease, and every second at least.  Who resigns is followed
        then, who dies once its lease is over.  A campaign that is cancelled while it is won may leave a lease that has
        to end by itself.

        :param name: of the election, mostly that of the log that the leader writes; as for :meth:`create_log`
        :param candidate: what this one is called, for people: up to 255 characters; default: host and process
        :param lease_s: seconds without a sign of life after which the lead is lost, from 1 to 3600
        :raises MetadataUnavailable: the store does not answer for a minute
        :raises MetadataCorrupt: the record of the election cannot be understood
        :raises InvalidArgument: name, candidate or lease are out of range
        """
        return await campaigning.Campaign(self._client, require_name(name), candidate, lease_s).won()  # type: ignore[return-value]

    @operation
    async def leader(self, name: str) -> str | None:
        """Give what the candidate is called that leads, or did until it died; None if there is none."""
        return await campaigning.leader(self._client, require_name(name))

    async def _find(self, name: str) -> LogMetadata:
        return await LogMetadata.find(self._client.metadata, require_name(name))

    def _run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Promise[T]:
        return self._client.run(work)


def _leads() -> bool:
    return True


def _unseen() -> None: ...
