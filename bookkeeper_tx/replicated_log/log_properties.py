"""What a log was created with: the quorums of its ledgers, and the name of its list."""

import json

from attrs import asdict, frozen

from bookkeeper_tx.errors import MetadataCorrupt
from bookkeeper_tx.model import DigestType

FORMAT_VERSION = 1


@frozen
class LogProperties:
    """What a log was created with; it never changes but for the mark of a deletion."""

    incarnation: str
    """Tells this log from one of the same name that was deleted: a writer that opens that one adds nothing here."""
    ensemble_size: int = 3
    write_quorum_size: int = 3
    ack_quorum_size: int = 2
    digest_type: DigestType = DigestType.CRC32C
    deleting: bool = False
    """Whether the log is being deleted."""

    def serialize(self) -> bytes:
        """Return the record of these properties."""
        parts = {"format": FORMAT_VERSION, **asdict(self), "digest_type": self.digest_type.name}
        if not self.deleting:
            del parts["deleting"]
        return json.dumps(parts, separators=(",", ":")).encode()

    @classmethod
    def parse(cls, record: bytes, log: str) -> "LogProperties":
        """Return the properties in a record; raises MetadataCorrupt."""
        try:
            parts = json.loads(record)
            if parts.pop("format") != FORMAT_VERSION:
                raise ValueError(f"it is not of format {FORMAT_VERSION}")
            return cls(**{**parts, "digest_type": DigestType[parts["digest_type"]]})
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise MetadataCorrupt(f"the properties of log {log} cannot be understood: {error!r}") from error
