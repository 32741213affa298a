"""Shared by the cases about TLS and authentication: clients that have to use them, and bookies that offer them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from compat_tests.client.driven_client import Client, ClientError
from compat_tests.client.scripted_bookie import ScriptedBookie
from compat_tests.client.stage import Stage
from compat_tests.targets import guardian
from compat_tests.targets.certificates import PASSWORD, USER, Secrets
from compat_tests.wire.tls import bookie_context

FIRST_USE_S = 25.0
"""The time that a JVM may take to load its TLS, or its SASL, the first time, and to look up the name of this host."""

_PATIENT = dict.fromkeys(("read_timeout_ms", "add_timeout_ms"), int(FIRST_USE_S * 1000))
"""The time of a request also runs while it waits for SASL, which a JVM has to load first."""

PATIENT_S = 40.0
"""The limit of a case that may be the first to use them."""


@contextmanager
def authority() -> Iterator[Secrets]:
    """A new authority, with a bookie and a client that it has certified; its files exist within the context."""
    with tempfile.TemporaryDirectory(prefix="bookkeeper-conformance-") as folder:
        guardian.watch_directory(Path(folder))
        yield Secrets.make(Path(folder))


def tls_client(stage: Stage, secrets: Secrets, **settings: object) -> Client:
    """A client that speaks TLS with bookies of this authority."""
    return stage.fresh_client(tls_trust=secrets.client_files.ca, **settings)


def authenticating_client(stage: Stage, **settings: object) -> Client:
    """A client that authenticates."""
    try:
        return stage.fresh_client(auth_user=USER, auth_password=PASSWORD, **{**_PATIENT, **settings})
    except ClientError as error:
        stage.fail("a client that authenticates", expected="that it is made", seen=str(error))
        raise


def serve_tls(bookies: Iterable[ScriptedBookie], secrets: Secrets, clients: bool = False) -> None:
    """Have bookies serve TLS; with ``clients`` they also ask a client for a certificate, which it need not have."""
    files = secrets.client_files
    context = bookie_context(*secrets.bookie_files, clients_of=files.ca if clients else None)
    for bookie in bookies:
        bookie.tls = context


def operations_by_tls(bookies: Iterable[ScriptedBookie]) -> set[tuple[str, bool]]:
    """The operations that bookies were asked for, each with whether the request came inside TLS."""
    return {(each.operation, each.inside_tls) for bookie in bookies for each in bookie.requests()}
