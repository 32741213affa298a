"""How a case gets inside TLS, step by step."""

from typing import Any

from compat_tests.bookie.talk import Talk
from compat_tests.judge.verdict import Mismatch, Unsupported
from compat_tests.targets.sites import TlsFiles
from compat_tests.wire import v3_requests
from compat_tests.wire.line import Line
from compat_tests.wire.replies import Reply
from compat_tests.wire.tls import client_context, shake_hands
from protocol_specs.wire.operations import V3Operation
from protocol_specs.wire.status import EOK

AGREEMENT = bytes.fromhex("0a06 0803 1009 1805 1000 d20600")
"""The answer to START_TLS with transaction id 5, byte for byte."""


def files(talk: Talk) -> TlsFiles:
    """The files that a client needs to speak TLS with the site."""
    if talk.site.tls is None:
        raise Unsupported("no authority is known for the certificate of this bookie")
    return talk.site.tls


def files_with_certificate(talk: Talk) -> TlsFiles:
    """The same, where the bookie wants its clients to show a certificate."""
    found = files(talk)
    if found.certificate is None:
        raise Unsupported("this bookie is not known to want certificates of its clients")
    return found


def agree(talk: Talk, line: Line) -> Reply:
    """Ask for TLS in clear, in V3 whatever follows, and require that the bookie agrees."""
    return talk.expect(v3_requests.start_tls(), EOK, line, operation=V3Operation.START_TLS)


def secure(talk: Talk, line: Line, **options: Any) -> Line:
    """Ask for TLS and do the handshake; ``options`` are those of the client's context."""
    agree(talk, line)
    finish_handshake(talk, line, **options)
    return line


def finish_handshake(talk: Talk, line: Line, **options: Any) -> None:
    """Do the handshake that the bookie has agreed to."""
    failed = shake_hands(line, client_context(files(talk), **options))
    if failed is not None:
        raise Mismatch("the TLS handshake", "done", failed)
