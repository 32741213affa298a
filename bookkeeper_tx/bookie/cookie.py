"""Cookies: proof that directories, bookie id and cluster belong together (docs/formats/cookie.md).

A bookie that serves a wrong or an empty directory answers "no such entry" for entries that it had stored, and a
recovering client then closes the ledger too early.  So, like Java's ``LegacyCookieValidation``, the bookie refuses to
start if anything does not fit.
"""

from collections.abc import Sequence

from attrs import frozen

from bookkeeper_tx.errors import RefusedToStart
from protocol_specs.codecs import Malformed
from protocol_specs.disk import cookie as spec


class CookiesDiffer(RefusedToStart):
    """A cookie is missing, or names another bookie or other directories: what was there may be lost."""


@frozen
class Cookie:
    """The fields of a cookie, as texts in their stored form."""

    bookie_id: str
    journal_directories: str
    """Joined by commas."""
    ledger_directories: str
    """Their number, then for each a tab and its path."""
    instance_id: str = ""
    """The cluster's instance id; empty if the cluster has none."""
    index_directories: str = ""
    """Like the ledger directories; empty if the index files are in those."""
    layout_version: int = spec.LAYOUT_VERSION

    @classmethod
    def of(cls, bookie_id: str, journal_directory: str, ledger_directory: str, instance_id: str | None) -> "Cookie":
        """Make the cookie of a bookie with these directories, exactly as they are configured."""
        return cls.of_directories(bookie_id, [journal_directory], [ledger_directory], [], instance_id)

    @classmethod
    def of_directories(
        cls,
        bookie_id: str,
        journals: Sequence[str],
        ledgers: Sequence[str],
        indexes: Sequence[str],
        instance_id: str | None,
    ) -> "Cookie":
        """Make the cookie of a bookie with several directories; ``indexes`` is empty if it is not configured."""
        return cls(bookie_id, ",".join(journals), _listed(ledgers), instance_id or "", _listed(indexes))

    @classmethod
    def decode(cls, data: bytes, source: str) -> "Cookie":
        """Read a cookie; raises RefusedToStart, naming ``source``, for other bytes and for an unknown version."""
        try:
            layout_version, values = spec.parse(data)
        except Malformed as error:
            raise RefusedToStart(f"the cookie in {source} cannot be read: {error}") from error
        if not spec.LAYOUT_VERSION_MIN <= layout_version <= spec.LAYOUT_VERSION:
            raise RefusedToStart(
                f"the cookie in {source} has layout version {layout_version}; "
                f"{spec.LAYOUT_VERSION_MIN} to {spec.LAYOUT_VERSION} are supported"
            )
        bookie_id, journals, ledgers, instance_id, indexes = (values.get(name, "") for name in spec.FIELDS)
        return cls(bookie_id, journals, ledgers, instance_id, indexes, layout_version)

    def encode(self) -> bytes:
        values = (
            self.bookie_id,
            self.journal_directories,
            self.ledger_directories,
            self.instance_id,
            self.index_directories,
        )
        return spec.build(self.layout_version, dict(zip(spec.FIELDS, values, strict=True)))

    def differing(self, stored: "Cookie", expands: bool = False) -> list[str]:
        """Return what differs in ``stored``, field by field; nothing in a cookie of the same bookie.

        ``expands``: it may have fewer ledger and index directories.  Then a cookie of a version that names no index
        directories counts as that of a bookie without; else it is not asked, for each directory has a cookie.
        """
        compared = {
            "bookie id (bookieHost)": (self.bookie_id, stored.bookie_id),
            "journal directory (journalDir)": (self.journal_directories, stored.journal_directories),
            "ledger directories (ledgerDirs)": (self.ledger_directories, stored.ledger_directories),
            "index directories (indexDirs)": self._index_directories(stored, expands),
            "cluster (instanceId)": (self.instance_id, stored.instance_id),
        }
        return [
            f"{name}: {theirs!r} there, {ours!r} here"
            for name, (ours, theirs) in compared.items()
            if ours != theirs and not (expands and name.endswith("Dirs)") and _has_all(ours, theirs))
        ]

    def verify(self, stored: "Cookie", source: str, expands: bool = False) -> None:
        """Raise CookiesDiffer with what is :meth:`differing` in ``stored``, if anything is."""
        if differing := self.differing(stored, expands):
            raise CookiesDiffer(
                f"the cookie in {source} is another bookie's; {'; '.join(differing)}.  "
                "Start it with the settings it had, or give a directory and a name of its own"
            )

    def is_same(self, stored: "Cookie", expands: bool = False) -> bool:
        """Tell whether a cookie that was verified names the same directories, in the same order."""
        ours, theirs = self._index_directories(stored, expands)
        return self.ledger_directories == stored.ledger_directories and ours == theirs

    @property
    def paths_of_ledgers(self) -> list[str]:
        """The ledger directories, one by one."""
        return _paths(self.ledger_directories)

    @property
    def names_indexes(self) -> bool:
        """Whether its version names index directories."""
        return self.layout_version == spec.LAYOUT_VERSION

    @property
    def paths_of_indexes(self) -> list[str]:
        """The index directories, which are by default those of the ledgers."""
        return _paths(self.index_directories) or self.paths_of_ledgers

    @property
    def paths(self) -> set[str]:
        """The directories of all kinds."""
        journals = filter(None, self.journal_directories.split(","))
        return {*journals, *self.paths_of_ledgers, *self.paths_of_indexes}

    def has_directory(self, path: str) -> bool:
        """Tell whether it names a directory, of whichever kind."""
        return path in self.paths

    def _index_directories(self, stored: "Cookie", expands: bool) -> tuple[str, str]:
        """Return the index directories of both, which are by default those of the ledgers."""
        if stored.layout_version < spec.LAYOUT_VERSION and not expands:
            return "", ""
        indexes = self.index_directories, stored.index_directories
        if any(indexes):
            return indexes[0] or self.ledger_directories, indexes[1] or stored.ledger_directories
        return indexes


def _has_all(ours: str, theirs: str) -> bool:
    return set(_paths(ours)) >= set(_paths(theirs))


def _paths(listed: str) -> list[str]:
    return listed.split("\t")[1:]


def _listed(directories: Sequence[str]) -> str:
    return "\t".join((str(len(directories)), *directories)) if directories else ""
