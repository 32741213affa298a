"""The position of a record on the command line."""

import click

from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.replicated_log import DLSN


def position(_context: click.Context, _option: click.Parameter, text: str | None) -> DLSN | None:
    """Return the position whose text was given, as ``bktx log append`` prints it."""
    if text is None:
        return None
    try:
        return DLSN.parse(text)
    except InvalidArgument as error:
        raise click.BadParameter(str(error)) from None
