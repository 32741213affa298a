"""The one way to say that something could not be had on this machine."""

import os


def must_be_there() -> bool:
    """Whether ``CI=true`` says that nothing may be missing."""
    return os.environ.get("CI", "").lower() in ("true", "1")


class Unavailable(Exception):
    """A JVM, a jar or a wheel that a target needs cannot be had here, so the case was not checked.

    This is neither a pass nor a failure of what is judged. The test plugin turns it into *not checked here*, or into
    a failure where ``CI=true`` says that everything must be there.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
