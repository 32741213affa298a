"""A bookie at an address as a target: the user runs it, and says what it offers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType

from compat_tests.targets.cluster import Cluster, parse_uri
from compat_tests.targets.control import ControlledBookie
from compat_tests.targets.lifetime import Lifetime
from compat_tests.targets.options import BadTarget, TargetOptions, parse_address
from compat_tests.targets.sites import (
    AUTH,
    PLAIN,
    READ_ONLY,
    SHARED_KINDS,
    TLS,
    TLS_AUTH,
    NotOffered,
    OwnBookie,
    Site,
    TlsFiles,
)
from compat_tests.targets.unavailable import Unavailable


class AddressTarget:
    """Starts and stops nothing, except by the user's own ``--control`` command."""

    how = "running already"

    def __init__(self, address: tuple[str, int], options: TargetOptions) -> None:
        self._address = address
        self._options = options
        self._lifetime = Lifetime()
        self.implementation = options.implementation or "unknown"
        self.release = options.release
        self.cluster = _cluster(options.metadata)
        self._addresses = {
            PLAIN: address,
            READ_ONLY: _parse_if_given(options.read_only_address),
            TLS: _parse_if_given(options.tls_address),
            AUTH: _parse_if_given(options.auth_address),
            TLS_AUTH: _parse_if_given(options.tls_auth_address),
        }
        if (options.tls_certificate is None) != (options.tls_key is None):
            raise BadTarget("give both --tls-certificate and --tls-key, or none")
        if (options.tls_address or options.tls_auth_address) and options.tls_ca is None:
            raise BadTarget("give --tls-ca too: the authority that signed the certificate of the TLS address")
        if (options.auth_address or options.tls_auth_address) and not (options.auth_user and options.auth_password):
            raise BadTarget("give --auth-user and --auth-password too: a login for the address that wants one")

    @property
    def name(self) -> str:
        """For headings."""
        known = " ".join(filter(None, [self._options.implementation, self._options.release]))
        host, port = self._address
        return f"{known or 'bookie'} at {host}:{port}"

    def site(self, kind: str) -> Site:
        """The site of that kind; raises :class:`NotOffered` with the option that would give it."""
        if kind not in SHARED_KINDS:
            raise NotOffered(f"there is no site {kind!r}; there are {', '.join(SHARED_KINDS)}")
        address = self._addresses[kind]
        if address is None:
            raise NotOffered(f"give --{kind.replace('+', '-')}-address to have this checked")
        host, port = address
        site = Site(host, port, cluster=self.cluster, bookie_id=f"{host}:{port}")
        options = self._options
        if kind in (TLS, TLS_AUTH) and options.tls_ca is not None:
            site.tls = TlsFiles(options.tls_ca, options.tls_certificate, options.tls_key)
        if kind in (AUTH, TLS_AUTH):
            site.credentials = (options.auth_user, options.auth_password)
        return site

    @contextmanager
    def own(self) -> Iterator[OwnBookie]:
        """One that the user's command starts, stops and kills; removed afterwards."""
        if not self._options.control:
            raise NotOffered("give --control COMMAND, which starts, stops and kills a bookie, to have this checked")
        controlled = ControlledBookie(self._options.control)
        self._lifetime.finally_do(controlled.remove)
        try:
            host, port = self._lifetime.run(controlled.start)
            yield OwnBookie(host, port, cluster=controlled.cluster, bookie_id=f"{host}:{port}", instance=controlled)
        except BaseException:
            with suppress(Unavailable):  # the first error says more
                controlled.remove()
            raise
        controlled.remove()

    def __enter__(self) -> AddressTarget:
        self._lifetime.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._lifetime.__exit__(kind, error, where)


def _parse_if_given(text: str | None) -> tuple[str, int] | None:
    return parse_address(text) if text else None


def _cluster(uri: str | None) -> Cluster | None:
    try:
        return parse_uri(uri) if uri else None
    except ValueError as error:
        raise BadTarget(f"--metadata: {error}") from None
