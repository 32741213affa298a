"""A client's file of Java's keys as options of the formats, so that a job is let in where a client is."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.security.config_keys import client_security_by_path
from bookkeeper_tx.security.zookeeper_keys import metadata_security_by_path
from bookkeeper_tx.spark.jobs.launch import Launch
from bookkeeper_tx.spark.options.client_config import KEYS, PREFIX
from bookkeeper_tx.text.properties_file import read_properties

Command = TypeVar("Command", bound=Callable[..., Any])

_FILE = click.Path(exists=True, dir_okay=False)
_HELP = "Settings in Java's client keys: TLS, SASL, time-outs."


def client_config_argument(command: Command) -> Command:
    """Add ``--client-config``; the command gets ``client_config``, a path or None.

    The file of ``bktx --client-config`` counts as well.
    """
    return click.option(
        "--client-config",
        type=_FILE,
        envvar="BKTX_CLIENT_CONFIG",
        show_envvar=True,
        metavar="FILE",
        callback=_or_that_of_bktx,
        help=_HELP,
    )(command)


def sink_client_config_argument(command: Command) -> Command:
    """Add ``--sink-client-config``, for the cluster that is written to beside another one."""
    return click.option("--sink-client-config", type=_FILE, metavar="FILE", help="The same for the sink's cluster.")(
        command
    )


def _or_that_of_bktx(context: click.Context, parameter: click.Parameter, path: str | None) -> str | None:
    assert parameter.name is not None
    if context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE:
        return path
    return (context.find_object(Launch) or Launch()).client_config or path


def with_client_file(options: Mapping[str, str], path: str | None) -> dict[str, str]:
    """Return ``options`` and those that the file has beside them.  Raises UsageError for a file that cannot be used."""
    given = {name.lower() for name in options}
    try:
        found = {} if path is None else _options_of(path)
    except InvalidConfig as error:
        raise click.UsageError(str(error)) from None
    return {**{name: value for name, value in found.items() if name.lower() not in given}, **options}


def _options_of(path: str) -> dict[str, str]:
    def warn(text: str) -> None:
        click.echo(f"warning: {text}", err=True)

    settings = {key: setting for key, setting in read_properties(path).items() if setting.value}
    # A password in the file is refused here, before it travels.
    client_security_by_path(settings, warn)
    metadata_security_by_path(settings)
    for key in settings.keys() - KEYS:
        warn(f"{settings[key].where} does nothing here")
    return {f"{PREFIX}{key}": setting.value for key, setting in settings.items() if key in KEYS}
