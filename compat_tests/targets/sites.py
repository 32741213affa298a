"""The bookies of a target: its shared sites, and a bookie of a case's own, which may be stopped and killed."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import attrs

from compat_tests.targets.cluster import Cluster

PLAIN = "plain"
READ_ONLY = "read-only"
TLS = "tls"
AUTH = "auth"
TLS_AUTH = "tls+auth"

#: The kinds of site that :meth:`Target.site` gives; a bookie of a case's own comes from :meth:`Target.own`.
SHARED_KINDS = (PLAIN, READ_ONLY, TLS, AUTH, TLS_AUTH)


class NotOffered(Exception):
    """This target has no such site; the text says why, or which option would give it. The case is *unsupported*."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@attrs.frozen
class TlsFiles:
    """The PEM files that a client needs to speak TLS with a site."""

    ca: Path
    """The authority that signed the site's certificate."""
    certificate: Path | None = None
    """The client's own certificate, which that site trusts; ``None`` if it wants none."""
    key: Path | None = None
    """The key of that certificate, without password."""


@attrs.define
class Site:
    """The address of a bookie, and the files and credentials that it wants of its clients."""

    host: str
    port: int
    tls: TlsFiles | None = None
    """Given if it speaks TLS after START_TLS."""
    credentials: tuple[str, str] | None = None
    """User and password for SASL DIGEST-MD5, if it wants its clients to log in."""
    cluster: Cluster | None = None
    """Where it is registered, if that can be looked into."""
    bookie_id: str = ""
    """Its name in the cluster, where that is known."""


class Instance(Protocol):
    """The server behind an :class:`OwnBookie`; each kind of target has its own."""

    def start(self) -> tuple[str, int]:
        """Start it on the directories that it had, wait until it serves, and return host and port."""

    def stop(self) -> None:
        """End it in order; nothing if it has ended."""

    def kill(self) -> None:
        """End it at once, as a crash does (SIGKILL); nothing if it has ended."""


@attrs.define(kw_only=True, eq=False)
class OwnBookie(Site):
    """A bookie of a case's own, with directories that were empty at first, and a cluster of its own.

    ``start`` raises ``StartFailed`` (compat_tests.targets.process) when the bookie ends instead of serving; that may be
    what a case wants to see.
    """

    instance: Instance

    def start(self) -> None:
        """Start it again after :meth:`stop` or :meth:`kill`; its address may be another one then."""
        self.host, self.port = self.instance.start()

    def stop(self) -> None:
        """End it in order (SIGTERM)."""
        self.instance.stop()

    def kill(self) -> None:
        """End it without warning (SIGKILL)."""
        self.instance.kill()

    def restart(self) -> None:
        """Stop it in order and start it on the same directories."""
        self.stop()
        self.start()

    def crash(self) -> None:
        """Kill it and start it on the same directories."""
        self.kill()
        self.start()
