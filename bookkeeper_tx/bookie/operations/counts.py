"""What an operation has answered since the start."""

from attrs import define


@define(eq=False)
class Counts:
    """Counts entries, once a request has its answer: a few additions for a run of them."""

    succeeded: int = 0
    failed: int = 0
    """Those that were answered with an error, "no such entry" included."""
    size_bytes: int = 0
    """Bytes of those that succeeded, where the operation counts them."""
