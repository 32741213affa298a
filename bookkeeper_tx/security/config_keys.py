"""Java's keys for TLS and authentication, of a bookie and of a client (docs/guides/configuration.md)."""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.security import jaas
from bookkeeper_tx.security.sasl import SaslBookie, SaslClient, SaslLogin
from bookkeeper_tx.security.tls_config import TlsConfig
from bookkeeper_tx.text.properties_file import Setting

Settings = Mapping[str, Setting]
Warn = Callable[[str], None]

JAAS_FILE = "java.security.auth.login.config"
"""The file with users and passwords.  In Java this is a system property, here a key of the configuration file."""

TLS_FACTORY = "TLSContextFactory"
SASL_BOOKIE = "SASLBookieAuthProviderFactory"
SASL_CLIENT = "SASLClientProviderFactory"


_OF_A_CERTIFICATE = ("tlsCertificatePath", "tlsClientAuthentication")
"""Keys of both sides that go with the key of a certificate."""


@frozen
class _Keys:
    """The names that differ between bookie and client."""

    store: str
    """How the names of the stores' keys start."""
    auth: str
    auth_class: str
    section: str
    section_default: str


_BOOKIE = _Keys("tls", "bookieAuthProviderFactoryClass", SASL_BOOKIE, "saslJaasBookieSectionName", "Bookie")
_CLIENT = _Keys("client", "clientAuthProviderFactoryClass", SASL_CLIENT, "saslJaasClientSectionName", "BookKeeper")


def _of(keys: _Keys) -> frozenset[str]:
    stores = (f"{keys.store}{store}Store{what}" for store in ("Key", "Trust") for what in ("", "Type", "PasswordPath"))
    common = (
        "tlsCertFilesRefreshDurationSeconds",
        "tlsCertificatePath",
        "tlsClientAuthentication",
        "tlsEnabledCipherSuites",
        "tlsEnabledProtocols",
        "tlsHostnameVerificationEnabled",
        "tlsProvider",
        "tlsProviderFactoryClass",
        "saslJaasClientAllowedIds",
    )
    return frozenset([*stores, *common, keys.auth, keys.section, JAAS_FILE])


BOOKIE_KEYS = _of(_BOOKIE)
"""Keys of ``bk_server.conf`` that are read here."""

CLIENT_KEYS = _of(_CLIENT)
"""Keys of a client's file that are read here."""


def bookie_security(settings: Settings, warn: Warn) -> dict[str, Any]:
    """Return the fields ``tls`` and ``auth`` of a BookieConfig, if the file sets them.  Raises InvalidConfig."""
    return _security(settings, warn, _BOOKIE, _sasl_bookie)


def client_security(settings: Settings, warn: Warn) -> dict[str, Any]:
    """Return the fields ``tls`` and ``auth`` of a ClientConfig, if the file sets them.  Raises InvalidConfig."""
    return _security(settings, warn, _CLIENT, lambda given, path, section: SaslClient(*jaas.credentials(path, section)))


def bookie_client_security(settings: Settings, warn: Warn) -> dict[str, Any]:
    """Return the fields ``client_tls`` and ``client_auth`` of a BookieConfig, if its file sets them.

    The keys are those of a client, in the bookie's file, as Java reads them for what its bookies ask of others.  Of the
    keys of both sides those count that go with the client's own: it asks for TLS if it has authorities to trust, or a
    key, and shows the certificate if it has a key.  Raises InvalidConfig.
    """
    own = {each for each in ("clientKeyStore", "clientTrustStore") if each in settings and settings[each].value}
    without = () if "clientKeyStore" in own else _OF_A_CERTIFICATE if own else ("tlsProviderFactoryClass",)
    given = {key: setting for key, setting in settings.items() if key not in without}
    return {f"client_{field}": value for field, value in client_security(given, warn).items()}


def client_security_by_path(settings: Settings, warn: Warn) -> dict[str, Any]:
    """Return the same without reading any file: the value has paths only, no secrets."""
    return _security(settings, warn, _CLIENT, lambda given, path, section: SaslLogin(path, section))


_Sasl = Callable[[Settings, str, str], SaslBookie | SaslClient | SaslLogin]
"""Returns the plugin, given the path of the login configuration and the section."""


def _security(settings: Settings, warn: Warn, keys: _Keys, sasl: _Sasl) -> dict[str, Any]:
    given = {key: setting for key, setting in settings.items() if setting.value}
    values: dict[str, Any] = {}
    factory = given.get("tlsProviderFactoryClass")
    if factory is not None:
        if factory.class_name() != TLS_FACTORY:
            raise factory.refuse(f"only {TLS_FACTORY} is implemented")
        values["tls"] = _tls(given, keys)
    elif f"{keys.store}KeyStore" in given or f"{keys.store}TrustStore" in given:
        warn(f"the TLS keys do nothing without tlsProviderFactoryClass = org.apache.bookkeeper.tls.{TLS_FACTORY}")
    plugin = given.get(keys.auth)
    if plugin is not None:
        if plugin.class_name() != keys.auth_class:
            raise plugin.refuse(f"only {keys.auth_class}, which is SASL with passwords, is implemented")
        if JAAS_FILE not in given:
            raise plugin.refuse(f"needs the file with users and passwords: {JAAS_FILE} = /path/of/jaas.conf")
        values["auth"] = sasl(given, given[JAAS_FILE].value, _text(given, keys.section) or keys.section_default)
    return values


def _tls(given: Settings, keys: _Keys) -> TlsConfig:
    key_store, trust_store = f"{keys.store}KeyStore", f"{keys.store}TrustStore"
    for store in (key_store, trust_store):
        kind = given.get(f"{store}Type")
        if store in given and (kind is None or kind.value.upper() != "PEM"):
            raise given[store].refuse(f"only PEM files are read: convert it, and set {store}Type = PEM")
    if "tlsEnabledCipherSuites" in given:
        raise given["tlsEnabledCipherSuites"].refuse("cipher suites cannot be chosen: leave it out")
    if keys is _BOOKIE and "tlsCertificatePath" not in given:
        raise given["tlsProviderFactoryClass"].refuse("a bookie needs tlsCertificatePath and tlsKeyStore")
    refresh, protocols = given.get("tlsCertFilesRefreshDurationSeconds"), given.get("tlsEnabledProtocols")
    values: dict[str, Any] = {
        "certificate_path": _text(given, "tlsCertificatePath"),
        "key_path": _text(given, key_store),
        "key_password_path": _text(given, f"{key_store}PasswordPath"),
        "trust_path": _text(given, trust_store),
        "client_authentication": _flag(given, "tlsClientAuthentication"),
        "hostname_verification": _flag(given, "tlsHostnameVerificationEnabled"),
        "refresh_interval_s": refresh.integer(0) if refresh else 0,
        "protocols": tuple(each.strip() for each in protocols.value.split(",")) if protocols else (),
    }
    try:
        return TlsConfig(**values)
    except InvalidConfig as error:
        raise given["tlsProviderFactoryClass"].refuse(str(error)) from None


def _sasl_bookie(given: Settings, path: str, section: str) -> SaslBookie:
    users = jaas.users(path, section)
    allowed = _text(given, "saslJaasClientAllowedIds")
    return SaslBookie(users) if allowed is None else SaslBookie(users, allowed)


def _text(given: Settings, key: str) -> str | None:
    return given[key].value if key in given else None


def _flag(given: Settings, key: str) -> bool:
    return given[key].boolean() if key in given else False
