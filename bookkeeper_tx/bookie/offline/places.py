"""Where the files of one bookie are, on the disks of this machine."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from attrs import frozen

from bookkeeper_tx.bookie.directories import DirectoryInUse, unused
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.offline.journal_count import require_all_journals
from bookkeeper_tx.bookie.offline.ledger_count import require_all_ledgers
from bookkeeper_tx.bookie.offline.one_bookie import require_one_bookie
from bookkeeper_tx.bookie.offline.writing_process import writing_process
from bookkeeper_tx.errors import InvalidArgument
from protocol_specs.disk.cookie import DIRECTORY as CURRENT
from protocol_specs.disk.db_index import LEDGERS, LOCATIONS
from protocol_specs.disk.entry_log import LOG_SIZE_MAX


@frozen
class Places:
    """The directories of a bookie as they are configured, several of each kind if a Java bookie has them so."""

    journal: tuple[str, ...]
    ledger: tuple[str, ...]
    index: tuple[str, ...] = ()
    """Empty: index files are in the ledger directories."""
    entry_log_bytes_max: int = LOG_SIZE_MAX
    """The size of its entry logs, for what writes new ones."""

    @property
    def every(self) -> tuple[str, ...]:
        """All of them, each once."""
        return tuple(dict.fromkeys((*self.journal, *self.ledger, *self.index)))

    @property
    def journal_currents(self) -> list[str]:
        """The directories of the journal files."""
        return _currents(self.journal)

    @property
    def ledger_currents(self) -> list[str]:
        """The directories of entry logs and marks."""
        return _currents(self.ledger)

    @property
    def index_currents(self) -> list[str]:
        """The directories of index files."""
        return _currents(self.index or self.ledger)

    def require_index_for_each_ledger(self) -> None:
        """Raise InvalidArgument if there are not as many index as ledger directories."""
        ledgers, indexes = len(self.ledger_currents), len(self.index_currents)
        if ledgers != indexes:
            raise InvalidArgument(
                f"DbLedgerStorage has an index directory for each ledger directory: {ledgers} and {indexes} are given"
            )

    @contextmanager
    def held(self, disk: Disk, writing: bool = False) -> Iterator[None]:
        """Keep a bookie from running there during the block.

        Raises DirectoryInUse, also if a Java bookie is there, and InvalidArgument for a directory that is not a
        bookie's, or is another's, or if one of its directories is not named.
        """
        for directory in self.every:
            if not disk.exists(os.path.join(directory, CURRENT)):
                raise InvalidArgument(
                    f"{directory} is not the directory of a bookie: there is no {CURRENT!r} in it.  Name it as the "
                    "bookie's configuration does"
                )
        require_one_bookie(disk, _currents(self.every))
        require_all_journals(disk, self.journal or self.ledger, self.ledger_currents)
        require_all_ledgers(disk, self.ledger_currents, self.index_currents, bool(self.index))
        with unused(disk, self.every, writing):
            found = writing_process([os.path.join(directory, CURRENT) for directory in self.every])
            if found is not None:
                raise DirectoryInUse(f"process {found.pid} writes {found.path}: stop that bookie first")
            yield

    def require_index_files(self, disk: Disk) -> None:
        """Raise InvalidArgument if the index is in the databases of DbLedgerStorage, and not in index files."""
        for current in self.index_currents:
            found = [name for name in disk.list_directory(current) if name in (LEDGERS, LOCATIONS)]
            if found:
                raise InvalidArgument(
                    f"{os.path.join(current, found[0])} is a database of DbLedgerStorage: this command is for the "
                    "index files of SortedLedgerStorage and InterleavedLedgerStorage, which bktx bookie convert makes "
                    "of them"
                )


def _currents(directories: Sequence[str]) -> list[str]:
    return [os.path.join(directory, CURRENT) for directory in dict.fromkeys(directories)]
