"""The custom metadata of a sink's ledger: the attempt, the task and the epoch that wrote it."""

from collections.abc import Mapping

from attrs import frozen

from bookkeeper_tx.spark.sink.manifest import EpochKey

APPLICATION = b"bookkeeper_tx.spark"


@frozen
class SinkMark:
    """The origin of a ledger.  With its keys, ``ledgerMetadata.<key>`` selects ledgers that are not published."""

    sink_id: str
    key: EpochKey
    partition: int
    attempt: int
    """0 for the first attempt of the task."""
    task_attempt_id: int
    """Spark's number of the attempt, which no other of the same application has."""

    def to_custom_metadata(self) -> dict[str, bytes]:
        values = {
            "sinkId": self.sink_id,
            "queryId": self.key.query_id,
            "epoch": self.key.epoch,
            "partition": self.partition,
            "attempt": self.attempt,
            "taskAttemptId": self.task_attempt_id,
        }
        return {"application": APPLICATION, **{key: str(value).encode() for key, value in values.items()}}

    @classmethod
    def of(cls, custom_metadata: Mapping[str, bytes]) -> "SinkMark | None":
        """Return the mark in the custom metadata of a ledger; None if no sink of ours has made the ledger."""
        if custom_metadata.get("application") != APPLICATION:
            return None
        try:
            text = {key: value.decode() for key, value in custom_metadata.items()}
            return cls(
                text["sinkId"],
                EpochKey(text["queryId"], int(text["epoch"])),
                int(text["partition"]),
                int(text["attempt"]),
                int(text["taskAttemptId"]),
            )
        except (KeyError, ValueError):
            return None
