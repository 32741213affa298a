"""Every error that users of bookkeeper_tx see.  The docstring of a class is the sentence shown without other text.

The type says which side is at fault: :class:`LocalError` means that this side was misused, :class:`RemoteError` that a
bookie or the metadata store answered with an error, or did not answer.
"""

from collections.abc import Mapping
from copy import copy
from typing import Self

from protocol_specs.ledger_id import SCOPED_MIN, qualified_name
from protocol_specs.wire import status as statuses
from protocol_specs.wire.status import Status


class BookKeeperError(Exception):
    """Something went wrong with BookKeeper."""

    def __str__(self) -> str:
        text = super().__str__()
        return text or (type(self).__doc__ or type(self).__name__).strip()

    def again(self) -> Self:
        """Return the same error for another to raise: with everybody who raises one its traceback gets longer."""
        error = copy(self)
        error.__cause__ = self.__cause__
        return error


class LocalError(BookKeeperError):
    """This side was misused."""


class RemoteError(BookKeeperError):
    """A peer failed, or answered with an error."""


# Local ---------------------------------------------------------------------------------------------------------------


class InvalidArgument(LocalError, ValueError):
    """An argument is out of range."""


class InvalidConfig(LocalError, ValueError):
    """A configuration value is wrong; the text names file, key and reason."""


class ClientClosed(LocalError):
    """This client was closed."""


class LedgerClosed(LocalError):
    """The ledger is closed: nothing can be appended to it."""


class TooManyOutstandingAdds(LocalError):
    """More appends wait than the writer holds back; wait for some of them first."""


class DuplicateEntryId(LocalError):
    """An entry of this id was appended already."""


class BatchReadNotSupported(LocalError):
    """Batch read is not available here: the ledger is striped, batch read is switched off, or the bookies lack it."""


class IllegalOperation(LocalError):
    """The request cannot be made this way; the text says which way to take."""


class LedgerScopeNotSupported(LocalError):
    """A bookie does not know ledger scopes (BP-34), so nothing of a ledger of a scope other than 0 was sent to it."""


class LogClosed(LocalError):
    """This writer of the log was closed, or has failed: nothing can be written with it; open the log again."""


class RefusedToStart(LocalError):
    """The bookie refuses to start; the text says why and what to do."""


# Remote --------------------------------------------------------------------------------------------------------------


class ProtocolViolation(RemoteError):
    """The peer sent bytes that break the protocol."""


class BookieUnavailable(RemoteError):
    """The connection to the bookie could not be made, or was lost."""


class CannotConnect(BookieUnavailable):
    """No connection to the bookie could be made, so it has not seen the request."""


# V2 has no words for a refusal, and Java's SASL says nothing at all: only that every bookie does this tells a wrong
# password from a bookie that has failed.
class AuthenticationUnanswered(CannotConnect):
    """The bookie left our credentials unanswered: it has failed, or they are wrong."""


class RequestTimedOut(RemoteError):
    """The peer did not answer in time; whether it carried the request out is unknown."""


NO_ANSWER = (BookieUnavailable, RequestTimedOut, ProtocolViolation)
"""Errors after which the outcome of the requests on the connection is not known; a blocking channel closes then."""


class AuthenticationFailed(RemoteError):
    """The bookie did not accept our credentials, or could not prove its own."""


class TlsFailed(RemoteError):
    """The bookie does not offer TLS, or the handshake failed: a wrong certificate, or none."""


class NotEnoughBookies(RemoteError):
    """There are fewer writable bookies than the ensemble needs."""


class DigestMismatch(RemoteError):
    """An entry does not match its digest: wrong password, wrong digest type, or corrupt data."""


class LedgerExists(RemoteError):
    """A ledger of this id exists already."""


class NoSuchLedger(RemoteError):
    """There is no such ledger."""


class NoSuchEntry(RemoteError):
    """There is no such entry."""


class LogExists(RemoteError):
    """A log of this name exists already."""


class NoSuchLog(RemoteError):
    """There is no log of this name."""


class LogFenced(RemoteError):
    """Another writer has taken the log.  What was not acknowledged may be in the log or not; reading it tells."""


class AlreadyTruncated(RemoteError):
    """What this position of a log named was truncated."""


class EntriesMissing(RemoteError):
    """Entries that the ledger must have are on none of their bookies: data was lost."""

    def __init__(self, ledger_id: int, first: int, last: int, reasons: Mapping[str, BookKeeperError]) -> None:
        """``reasons`` maps each bookie that should have the entries ``first`` … ``last`` to the error it answered."""
        super().__init__(ledger_id, first, last, dict(reasons))
        self.ledger_id = ledger_id
        self.first = first
        self.last = last
        self.reasons = dict(reasons)

    def __str__(self) -> str:
        name = self.ledger_id if self.ledger_id < SCOPED_MIN else qualified_name(self.ledger_id)
        ids = f"entry {self.first}" if self.first == self.last else f"entries {self.first} … {self.last}"
        answers = "; ".join(f"{bookie}: {error}" for bookie, error in self.reasons.items())
        return f"{ids} of ledger {name} cannot be had from any of the bookies that should store it ({answers})"


class BadRequest(RemoteError):
    """The bookie could not make sense of the request."""


class StorageFailed(RemoteError):
    """The bookie's storage failed."""


class Unauthorized(RemoteError):
    """Unauthorized: the ledger's password is wrong or missing, or the bookie wants authentication (SASL) first."""


class BadVersion(RemoteError):
    """The bookie does not speak this protocol version."""


NOT_UNDERSTOOD = (BadRequest, BadVersion)
"""What a bookie may answer to an operation that it does not know, if it does not close the connection."""


class LedgerFenced(RemoteError):
    """The ledger is fenced: a reader has taken it over.  The entry may exist or not; only recovery can tell."""


class ReadOnlyBookie(RemoteError):
    """The bookie is read-only."""


class TooManyRequests(RemoteError):
    """The bookie is overloaded."""


QUARANTINED = (*NO_ANSWER, TlsFailed, AuthenticationFailed, TooManyRequests)
"""Errors after which a bookie is asked last for a while, whatever it is asked for."""


class UnknownLedgerState(RemoteError):
    """The bookie cannot tell whether it ever had this entry."""


class MetadataError(RemoteError):
    """The metadata store failed."""


class MetadataUnavailable(MetadataError):
    """The metadata store cannot be reached."""


class MetadataAccessDenied(MetadataError):
    """The metadata store turned us away, or we it: a wrong password or certificate, or nodes that are not for us."""


class MetadataConflict(MetadataError):
    """Somebody else changed the metadata first."""


class MetadataCorrupt(MetadataError):
    """A metadata record cannot be understood."""


class BookieIdInUse(MetadataError):
    """A bookie with this id is registered already."""


_ERROR_OF_STATUS: dict[Status, type[RemoteError]] = {
    statuses.ENOLEDGER: NoSuchLedger,
    statuses.ENOENTRY: NoSuchEntry,
    statuses.EBADREQ: BadRequest,
    statuses.EIO: StorageFailed,
    statuses.EUA: Unauthorized,
    statuses.EBADVERSION: BadVersion,
    statuses.EFENCED: LedgerFenced,
    statuses.EREADONLY: ReadOnlyBookie,
    statuses.ETOOMANYREQUESTS: TooManyRequests,
    statuses.EUNKNOWNLEDGERSTATE: UnknownLedgerState,
}

_STATUS_OF_ERROR = {error: status for status, error in _ERROR_OF_STATUS.items()}


def error_of(status: Status, text: str = "") -> RemoteError:
    """Return the error that stands for a status other than EOK."""
    return _ERROR_OF_STATUS[status](text) if text else _ERROR_OF_STATUS[status]()


def status_of(error: BaseException) -> Status:
    """Return the status of a bookie's reply to a request that ``error`` ended; EIO for an error without a status."""
    for kind in type(error).__mro__:
        if kind in _STATUS_OF_ERROR:
            return _STATUS_OF_ERROR[kind]
    return statuses.EIO
