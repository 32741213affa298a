"""The keys for TLS, passwords and access lists of ZooKeeper, of bookies and clients (docs/guides/configuration.md).

All but ``zkEnableSecurity`` are system properties in Java, and here keys of the configuration file.
"""

from collections.abc import Callable, Mapping
from typing import Any

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.security.config_keys import JAAS_FILE
from bookkeeper_tx.security.login_if_there import LoginIfThere
from bookkeeper_tx.security.metadata_security import MetadataSecurity
from bookkeeper_tx.security.sasl import SaslLogin
from bookkeeper_tx.security.tls_config import TlsConfig
from bookkeeper_tx.text.properties_file import Setting

Settings = Mapping[str, Setting]

ENABLE_SECURITY = "zkEnableSecurity"
_SECURE = "zookeeper.client.secure"
_SSL = "zookeeper.ssl."
_KEY_STORE = f"{_SSL}keyStore"
_TRUST_STORE = f"{_SSL}trustStore"
_HOSTNAME_VERIFICATION = f"{_SSL}hostnameVerification"
_PROTOCOLS = f"{_SSL}enabledProtocols"
_SOCKET = "zookeeper.clientCnxnSocket"
_SASL = "zookeeper.sasl.client"
_SECTION = "zookeeper.sasl.clientconfig"
_SECTION_DEFAULT = "Client"

ZOOKEEPER_KEYS = frozenset(
    [
        *(f"{store}.{what}" for store in (_KEY_STORE, _TRUST_STORE) for what in ("location", "type", "password")),
        f"{_KEY_STORE}.passwordPath",
        *(ENABLE_SECURITY, _SECURE, _HOSTNAME_VERIFICATION, _PROTOCOLS, _SOCKET, _SASL, _SECTION),
    ]
)
"""Keys that are read here, besides that of the file with users and passwords."""


_OF_BOOKIES = {
    "tlsTrustStore (a client: clientTrustStore)": f"{_TRUST_STORE}.location",
    "clientTrustStore": f"{_TRUST_STORE}.location",
    "tlsCertificatePath, with tlsClientAuthentication": f"{_KEY_STORE}.location",
    "tlsCertificatePath": f"{_KEY_STORE}.location",
    "clientKeyStorePasswordPath": f"{_KEY_STORE}.passwordPath",
    "tlsEnabledProtocols": _PROTOCOLS,
}
"""A key of a bookie's or a client's TLS → the key for ZooKeeper."""


def in_zookeeper_keys(text: str) -> str:
    """Return what is said of TLS with the keys that are ZooKeeper's."""
    for ours, theirs in _OF_BOOKIES.items():
        text = text.replace(ours, theirs)
    return text


def metadata_security(settings: Settings) -> dict[str, Any]:
    """Return the field ``metadata_security`` of a configuration, if the file sets it.

    Raises InvalidConfig for wrong settings, and for a file with passwords that cannot be used.
    """
    return _security(settings, _read)


def metadata_security_by_path(settings: Settings) -> dict[str, Any]:
    """Return the same without reading any file: the value has paths only, no secrets.

    Whether the file with passwords has a login for ZooKeeper, unless a key asks for one, is seen where a store is
    opened.  Raises InvalidConfig for wrong settings, and for a password among them, whether it would be read or not.
    """
    _refuse_passwords(settings)
    return _security(settings, lambda login: login)


_Login = SaslLogin | LoginIfThere | None


def _security(settings: Settings, settle: Callable[[_Login], _Login]) -> dict[str, Any]:
    given = {key: setting for key, setting in settings.items() if setting.value}
    tls, login = _tls(given), settle(_login(given))
    creator_only = ENABLE_SECURITY in given and given[ENABLE_SECURITY].boolean()
    if tls is None and login is None and not creator_only:
        return {}
    try:
        return {"metadata_security": MetadataSecurity(tls=tls, login=login, creator_only=creator_only)}
    except InvalidConfig as error:
        raise given[ENABLE_SECURITY].refuse(str(error).partition(": ")[2]) from None


def _refuse_passwords(given: Settings) -> None:
    for store in (_KEY_STORE, _TRUST_STORE):
        password = given.get(f"{store}.password")
        if password is not None and password.value:
            advice = f"name a file with it: {_KEY_STORE}.passwordPath" if store == _KEY_STORE else "PEM files have none"
            # Not the refusal of a setting, which would show the password.
            raise InvalidConfig(f"{password.where}: a password in the configuration is not read; {advice}")


def _tls(given: Settings) -> TlsConfig | None:
    secure = given.get(_SECURE)
    if secure is None:
        for key, setting in given.items():
            if key.startswith(_SSL):
                raise InvalidConfig(f"{setting.where} does nothing without {_SECURE}: set it to true, or to false")
        return None
    if not secure.boolean():
        return None
    for store in (_KEY_STORE, _TRUST_STORE):
        location, kind = (given.get(f"{store}.{what}") for what in ("location", "type"))
        named = (
            kind.value.upper() if kind is not None else "PEM" if location and location.value.endswith(".pem") else ""
        )
        if location is not None and named != "PEM":
            raise location.refuse(f"only PEM files are read: convert it, and set {store}.type = PEM")
    _refuse_passwords(given)
    own = _text(given, f"{_KEY_STORE}.location")
    protocols = given.get(_PROTOCOLS)
    hostname = given.get(_HOSTNAME_VERIFICATION)
    try:
        return TlsConfig(
            certificate_path=own,
            key_path=own,
            key_password_path=_text(given, f"{_KEY_STORE}.passwordPath"),
            trust_path=_text(given, f"{_TRUST_STORE}.location"),
            client_authentication=own is not None,
            hostname_verification=hostname is None or hostname.boolean(),
            protocols=tuple(each.strip() for each in protocols.value.split(",")) if protocols else (),
        )
    except InvalidConfig as error:
        raise secure.refuse(in_zookeeper_keys(str(error))) from None


def _read(login: _Login) -> _Login:
    """Return the login that the file has, having read it."""
    found = login.found() if isinstance(login, LoginIfThere) else login
    if found is not None:
        found.credentials()
    return found


def _login(given: Settings) -> _Login:
    """Return the login for ZooKeeper, if the file with passwords is named and may be used for it."""
    asked = given.get(_SASL)
    if JAAS_FILE not in given or (asked is not None and not asked.boolean()):
        if _SECTION in given or (asked is not None and asked.boolean()):
            key = _SECTION if _SECTION in given else _SASL
            raise given[key].refuse(f"a login needs the file with users and passwords, {JAAS_FILE}, and {_SASL} = true")
        return None
    path, section = given[JAAS_FILE].value, _text(given, _SECTION) or _SECTION_DEFAULT
    if _SECTION not in given and asked is None:
        return LoginIfThere(path, section)
    return SaslLogin(path, section)


def _text(given: Settings, key: str) -> str | None:
    return given[key].value if key in given else None
