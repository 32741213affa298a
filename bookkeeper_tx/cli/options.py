"""Options that several commands share."""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from bookkeeper_tx.config import WireProtocol
from bookkeeper_tx.model import DigestType

Command = TypeVar("Command", bound=Callable[..., Any])

DIGESTS = {digest.name.lower(): digest for digest in DigestType}

METADATA_FORMS = "sqlite:///PATH, zk+hierarchical://HOST:PORT/ledgers or etcd://HOST:PORT/ledgers"

metadata = click.option(
    "--metadata",
    "metadata_uri",
    envvar="BKTX_METADATA",
    show_envvar=True,
    required=True,
    metavar="URI",
    help=f"Where the cluster's metadata is: {METADATA_FORMS}.",
)

metadata_if_needed = click.option(
    "--metadata",
    "metadata_uri",
    envvar="BKTX_METADATA",
    show_envvar=True,
    metavar="URI",
    help=f"Where the cluster's metadata is, if it is to be asked: {METADATA_FORMS}.",
)

protocol = click.option(
    "--protocol",
    type=click.Choice([each.name.lower() for each in WireProtocol]),
    callback=lambda _context, _option, name: name and WireProtocol[name.upper()],
    help="Protocol to speak with bookies; default: v2, and v3 for ledgers of scopes other than 0.",
)


def digest(command: Command) -> Command:
    """Add ``--digest``."""
    return click.option(
        "--digest",
        "digest_type",
        type=click.Choice(list(DIGESTS)),
        default="crc32c",
        show_default=True,
        callback=lambda _context, _option, name: DIGESTS[name],
        help="How entries are protected against corruption.",
    )(command)


def digest_to_read(command: Command) -> Command:
    """Add ``--digest`` for a ledger that exists; None takes the digest type of its metadata."""
    return click.option(
        "--digest",
        "digest_type",
        type=click.Choice(list(DIGESTS)),
        callback=lambda _context, _option, name: name and DIGESTS[name],
        help="How entries are protected; default: as the ledger's metadata says.",
    )(command)


def password(command: Command) -> Command:
    """Add ``--password-file``; the command gets ``password`` as bytes."""
    return click.option(
        "--password-file",
        "password",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        callback=_read_password,
        help="File whose first line is the ledger's password; the default is no password.  [env BKTX_PASSWORD: the"
        " password itself]",
    )(command)


def _read_password(_context: click.Context, _option: click.Parameter, path: Path | None) -> bytes:
    if path is None:
        return os.environb.get(b"BKTX_PASSWORD", b"")
    if stat.S_IMODE(path.stat().st_mode) & stat.S_IROTH:
        click.echo(f"warning: everybody can read the password in {path}: chmod 600 it", err=True)
    return path.read_bytes().split(b"\n", 1)[0].removesuffix(b"\r")
