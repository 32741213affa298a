"""The status table: BookKeeper's three number spaces for one set of outcomes, one row each."""

from typing import NamedTuple

OK = 0


class Status(NamedTuple):
    """One outcome of a request."""

    name: str
    v2: int
    """Return code of a V2 reply."""
    v3: int
    """Status of a V3 reply."""
    client: int
    """Code that a Java client reports (``BKException``) of a read; EBADREQ and EIO of a write are -12."""
    retriable: bool
    """Whether another replica may answer differently."""
    sentence: str


EOK = Status("EOK", 0, 0, 0, False, "The request was carried out.")
ENOLEDGER = Status("ENOLEDGER", 1, 402, -7, True, "This bookie has no such ledger.")
ENOENTRY = Status("ENOENTRY", 2, 403, -13, True, "This bookie knows the ledger but has no such entry.")
EBADREQ = Status("EBADREQ", 100, 404, -1, True, "The bookie could not make sense of the request.")
EIO = Status("EIO", 101, 501, -1, True, "The bookie's storage failed.")
EUA = Status(
    "EUA",
    102,
    502,
    -102,
    False,
    "Unauthorized: the ledger's password is wrong or missing, or the bookie wants authentication (SASL) first.",
)
EBADVERSION = Status("EBADVERSION", 103, 503, -16, False, "The bookie does not speak this protocol version.")
EFENCED = Status("EFENCED", 104, 504, -101, False, "The ledger is fenced: a reader has taken it over.")
EREADONLY = Status("EREADONLY", 105, 505, -104, True, "The bookie is read-only.")
ETOOMANYREQUESTS = Status("ETOOMANYREQUESTS", 106, 506, -105, True, "The bookie is overloaded.")
EUNKNOWNLEDGERSTATE = Status(
    "EUNKNOWNLEDGERSTATE", 107, 507, -108, True, "The bookie cannot tell whether it ever had this entry."
)

STATUSES = (
    EOK,
    ENOLEDGER,
    ENOENTRY,
    EBADREQ,
    EIO,
    EUA,
    EBADVERSION,
    EFENCED,
    EREADONLY,
    ETOOMANYREQUESTS,
    EUNKNOWNLEDGERSTATE,
)

BY_V2_CODE = {status.v2: status for status in STATUSES}
BY_V3_CODE = {status.v3: status for status in STATUSES}
