"""The lines of the conformance suite's driver protocol (docs/conformance/driver.md), and BookKeeper's client codes."""

from typing import Any

from bookkeeper_tx import errors
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.model import LedgerMetadata
from bookkeeper_tx.security.sasl import SaslClient
from bookkeeper_tx.security.tls_config import TlsConfig

Values = dict[str, Any]

CODES: dict[type[errors.BookKeeperError], int] = {
    errors.StorageFailed: -1,
    errors.BadRequest: -1,
    errors.DigestMismatch: -5,
    errors.NotEnoughBookies: -6,
    errors.NoSuchLedger: -7,
    errors.BookieUnavailable: -8,
    errors.ProtocolViolation: -8,
    errors.MetadataUnavailable: -9,
    errors.LedgerClosed: -11,
    errors.NoSuchEntry: -13,
    errors.InvalidArgument: -14,
    errors.BadVersion: -16,
    errors.MetadataConflict: -17,
    errors.MetadataError: -18,
    errors.ClientClosed: -19,
    errors.LedgerExists: -20,
    errors.RequestTimedOut: -23,
    errors.TlsFailed: -24,
    errors.IllegalOperation: -100,
    errors.BatchReadNotSupported: -100,
    errors.LedgerScopeNotSupported: -100,
    errors.LedgerFenced: -101,
    errors.Unauthorized: -102,
    errors.AuthenticationFailed: -102,
    errors.ReadOnlyBookie: -104,
    errors.TooManyRequests: -105,
    errors.TooManyOutstandingAdds: -105,
    errors.UnknownLedgerState: -108,
}
"""BookKeeper's client codes, as ``BKException.Code`` of Java has them."""

OK = 0


class Unsupported(Exception):
    """This client does not support the request."""


def code_of(error: BaseException) -> int | None:
    """The client code of an error; None if BookKeeper has none for it."""
    for kind in type(error).__mro__:
        if kind in CODES:
            return CODES[kind]
    return None


class Request:
    """One line: a number, a verb and named values."""

    def __init__(self, line: str) -> None:
        self.number, self.verb, *parts = line.rstrip("\r\n").split("\t")
        self._values = dict(part.split("=", 1) for part in parts)

    def text(self, name: str, default: str | None = None) -> str:
        value = self._values.get(name, default)
        if value is None:
            raise ValueError(f"{self.verb} needs {name}")
        return value

    def integer(self, name: str, default: int | None = None) -> int:
        return int(self.text(name, None if default is None else str(default)))

    def data(self, name: str, default: bytes | None = None) -> bytes:
        return bytes.fromhex(self.text(name, None if default is None else default.hex()))

    def flag(self, name: str, default: bool = False) -> bool:
        return self.text(name, str(default)).lower() == "true"

    def has(self, name: str) -> bool:
        return name in self._values

    def under(self, prefix: str) -> dict[str, str]:
        """The values whose names start with ``prefix``, under the rest of their names."""
        return {name[len(prefix) :]: value for name, value in self._values.items() if name.startswith(prefix)}


def reply_line(number: str, values: Values) -> str:
    """The reply to a request that went well."""
    return _line(number, "ok", values)


def error_line(number: str, error: BaseException) -> str:
    """The reply to a request that failed."""
    code = code_of(error)
    name = type(error).__name__
    return _line(number, "error", {"code": "-" if code is None else code, "name": name, "message": error})


def _line(number: str, outcome: str, values: Values) -> str:
    parts = (f"{name}={_text(value)}" for name, value in values.items())
    return "\t".join([number, outcome, *parts]) + "\n"


def _text(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text.replace("\t", " ").replace("\n", " ").replace("\r", " ")


def config_of(request: Request) -> ClientConfig:
    settings: dict[str, Any] = {"protocol": "v2" if request.flag("v2") else "v3", "reconnect_delay_s": 0.05}
    for name in ("read_timeout", "add_timeout", "connect_timeout", "explicit_lac_interval"):
        if request.has(f"{name}_ms"):
            settings[f"{name}_s"] = request.integer(f"{name}_ms") / 1000
    if request.has("batch_read"):
        settings["batch_read_enabled"] = request.flag("batch_read")
    if request.has("tls_trust"):
        certificate = request.has("tls_certificate")
        settings["tls"] = TlsConfig(
            trust_path=request.text("tls_trust"),
            certificate_path=request.text("tls_certificate") if certificate else None,
            key_path=request.text("tls_key") if certificate else None,
            client_authentication=certificate,
            hostname_verification=request.flag("tls_hostname"),
        )
    if request.has("auth_user"):
        settings["auth"] = SaslClient(request.text("auth_user"), request.text("auth_password"))
    return ClientConfig(**settings)


def number_of(error: BaseException) -> int:
    code = code_of(error)
    return -999 if code is None else code


def listed(values: Any) -> str:
    return ",".join(str(int(value)) for value in values)


def reported(entries: Any) -> Values:
    found = list(entries)
    return {
        "count": len(found),
        "ids": listed(entry.entry_id for entry in found),
        "bodies": ",".join(entry.payload.hex() for entry in found),
        "length": found[-1].length if found else 0,
    }


def described(metadata: LedgerMetadata) -> Values:
    fragments = (f"{each.first_entry_id}:{','.join(each.ensemble)}" for each in metadata.fragments)
    custom = {f"custom.{name}": value.hex() for name, value in metadata.custom_metadata.items()}
    return {
        "format_version": metadata.format_version,
        "ensemble": metadata.ensemble_size,
        "write": metadata.write_quorum_size,
        "ack": metadata.ack_quorum_size,
        "state": metadata.state.name,
        "last_entry": metadata.last_entry_id,
        "length": metadata.length,
        "digest": metadata.digest_type.name if metadata.digest_type else "-",
        "ctime_ms": -1 if metadata.ctime_ms is None else metadata.ctime_ms,
        "fragments": ";".join(fragments),
        **custom,
    }
