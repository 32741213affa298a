"""kazoo's settings, and its errors as errors of ours, for the session of the reactor and the blocking one."""

import logging

from kazoo import exceptions

from bookkeeper_tx.errors import MetadataAccessDenied, MetadataError, MetadataUnavailable

# Without any handler Python prints kazoo's warnings, one for each attempt to connect, to stderr.
logging.getLogger("kazoo").addHandler(logging.NullHandler())

CONNECTION_RETRY = {"max_tries": -1, "delay": 0.1, "backoff": 2, "max_delay": 2.0}
"""Try again for ever, soon at first, then every 2 s."""

PAUSE_AFTER_LOSS_S = 0.05
"""How long to wait after a lost request: kazoo reports the loss before it knows that the connection is down."""

_UNKNOWN_OUTCOME = (
    exceptions.ConnectionLoss,
    exceptions.SessionExpiredError,
    exceptions.ConnectionClosedError,
    exceptions.OperationTimeoutError,
    exceptions.SessionMovedError,
    exceptions.AuthFailedError,  # a later login that is repeated; the first one has failed before there are requests
)


DENIALS = (exceptions.NoAuthError, exceptions.InvalidACLError, exceptions.SessionClosedRequireSaslError)
"""The errors that say that we may not do something."""

_DENIED = {
    exceptions.NoAuthError: "the access list of {} does not let us do that",
    exceptions.InvalidACLError: "{} cannot be made for ourselves alone, because it does not know who we are",
    exceptions.SessionClosedRequireSaslError: "it takes only users who log in with a password, also for {}",
}


class ConnectionLost(MetadataUnavailable):
    """The connection to ZooKeeper was lost; whether the request was carried out is unknown."""


def translated(error: Exception) -> Exception:
    """Return ConnectionLost for an error of kazoo that leaves the outcome open, any other error as it is."""
    return ConnectionLost() if isinstance(error, _UNKNOWN_OUTCOME) else error


def not_reached(hosts: str, timeout_s: float, hint: str = "") -> MetadataUnavailable:
    """Return the error for servers to which no connection could be made; ``hint`` says where to look."""
    return MetadataUnavailable(f"no ZooKeeper at {hosts} answered within {timeout_s:g} s{hint}")


def not_answered(hosts: str, timeout_s: float, reason: str = "") -> MetadataUnavailable:
    """Return the error for an operation that took too long; ``reason`` is what the servers have said meanwhile."""
    return MetadataUnavailable(
        f"ZooKeeper at {hosts} did not answer within {timeout_s:g} s{reason}; "
        "a change that was asked for may be made or not"
    )


def refused(hosts: str, error: BaseException) -> MetadataError:
    """Return the error for an unexpected answer of the server."""
    return MetadataError(f"ZooKeeper at {hosts} refused: {error!r}")


def denied(hosts: str, error: BaseException, path: str) -> MetadataAccessDenied:
    """Return the error for one of :data:`DENIALS`, about the node at ``path``."""
    return MetadataAccessDenied(
        f"ZooKeeper at {hosts}: {_DENIED[type(error)].format(path)}; look at the password or certificate that it is "
        "given, and at zkEnableSecurity"
    )
