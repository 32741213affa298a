"""The options of a target beyond its name."""

from __future__ import annotations

from pathlib import Path

import attrs


class BadTarget(ValueError):
    """The words that name a target, or its options, make no sense; the text says what to write."""


@attrs.frozen(kw_only=True)
class TargetOptions:
    """The user's options for a target; each kind of target takes those that are for it."""

    metadata: str | None = None
    """For an address: the ``zk+hierarchical://…`` URI of its cluster."""
    with_metadata: bool = False
    """For ours: register in a ZooKeeper, if one can be had, so that cases about metadata have one; else in SQLite."""
    launcher: tuple[str, ...] = ()
    """For ours: the command that runs ``twistd bookie …`` in place of Python's own, as a launcher of mutants."""
    implementation: str = ""
    """For an address: whose bookie it is."""
    release: str = ""
    """For an address: the release of it; for ``java`` the release of Java BookKeeper."""
    read_only_address: str | None = None
    tls_address: str | None = None
    tls_ca: Path | None = None
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    auth_address: str | None = None
    auth_user: str = ""
    auth_password: str = ""
    tls_auth_address: str | None = None
    """One that wants TLS and a login; takes ``tls_*`` and ``auth_*`` as they are."""
    control: str | None = None
    """For an address: the user's command that starts, stops and kills an instance for the cases that need one."""


def parse_address(text: str) -> tuple[str, int]:
    """``host:port`` or ``[IPv6 address]:port``; raises :class:`BadTarget`."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise BadTarget(f"{text!r} is no target: write ours, java:RELEASE, docker:RELEASE or host:port")
    return host, int(port)
