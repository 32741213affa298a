"""What a log was created with: the quorums of its ledgers, and the name of its list."""

from enum import Enum

from attrs import asdict, frozen

from bookkeeper_tx.errors import MetadataCorrupt
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.replicated_log.json_record import packed, unpacked


class LogStage(Enum):
    """How far the life of a log has gone."""

    IN_USE = "in use"
    DELETING = "deleting"
    """It is being deleted: nobody opens it, and nobody makes a log of its name."""
    DELETED = "deleted"
    """Its name is free."""


@frozen
class LogProperties:
    """What a log was created with; only the stage changes."""

    incarnation: str
    """Tells this log from one of the same name that was deleted: a writer that opens that one adds nothing here."""
    ensemble_size: int = 3
    write_quorum_size: int = 3
    ack_quorum_size: int = 2
    digest_type: DigestType = DigestType.CRC32C
    stage: LogStage = LogStage.IN_USE
    """How far its life has gone."""

    def serialize(self) -> bytes:
        """Return the record of these properties."""
        enums = {"digest_type": self.digest_type.name, "stage": self.stage.value}
        return packed({**asdict(self), **enums})

    @classmethod
    def parse(cls, record: bytes, log: str) -> "LogProperties":
        """Return the properties in a record; raises MetadataCorrupt."""
        try:
            parts = unpacked(record)
            enums = {"digest_type": DigestType[parts["digest_type"]], "stage": LogStage(parts["stage"])}
            return cls(**{**parts, **enums})
        except (ValueError, TypeError, KeyError) as error:
            raise MetadataCorrupt(f"the properties of log {log} cannot be understood: {error!r}") from error
