"""The arguments of jobs: the values, and the command-line options that several jobs share."""

import functools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

import click
from attrs import field, fields, frozen
from click.core import ParameterSource

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.spark.jobs.client_file import (
    client_config_argument,
    sink_client_config_argument,
    with_client_file,
)
from bookkeeper_tx.spark.options.option import NOWHERE, Use, option_name, option_of
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.text.ledger_scope import ledger_scope
from protocol_specs.ledger_id import QUALIFIED_NAME_LENGTH

Command = TypeVar("Command", bound=Callable[..., Any])

SELECTORS = ("ledger", "ledgers", "manifest", "ledgermetadata.")
"""Options that choose ledgers, in small letters."""

ALL_LEDGERS = "0-"

CONNECTION = Use.BOOKIES
"""A use that has no other options than those of every connection to a cluster."""


@frozen
class Cluster:
    """A cluster, and the options of the formats to read it or write to it."""

    metadata_uri: str
    options: Mapping[str, str] = field(factory=dict)
    """Options of the formats (docs/guides/spark.md)."""

    @property
    def selects(self) -> bool:
        """Whether the options choose ledgers."""
        return any(is_selector(name) for name in self.options)

    def selecting(self) -> "Cluster":
        """Return it with options that choose ledgers: all of them, if its own options choose none."""
        return self if self.selects else Cluster(self.metadata_uri, {**self.options, "ledgers": ALL_LEDGERS})

    def whole(self) -> "Cluster":
        """Return it with all ledgers of all scopes, and of its own options those of connections alone."""
        return Cluster(self.metadata_uri, {**options_of(CONNECTION, self.options), "scope": "all"})

    def check_used(self, uses: Use) -> None:
        """Raise InvalidConfig for an option that does nothing in any of the tables that a job reads.

        A password may be given to every job.
        """
        for name in self.options:
            if not _uses_of(name) & uses and name.lower() != "passwordfile":
                raise InvalidConfig(f"option {name}: this job does nothing with it, leave it out")

    def load(self, spark: Any, use: Use, **more: str) -> Any:
        """Return the table of ``use`` as a DataFrame; options that do nothing there are left out.

        Raises InvalidConfig if the options name a table.
        """
        if any(name.lower() == "table" for name in self.options):
            raise InvalidConfig("option table: a job reads the tables that it needs, leave it out")
        options = {**options_of(use, {**self.options, **more}), "metadataServiceUri": self.metadata_uri}
        return spark.read.format("bookkeeper").options(**options, table=TABLE_OF[use]).load()


TABLE_OF = {
    Use.READ: "entries",
    Use.LEDGERS: "ledgers",
    Use.BOOKIES: "bookies",
    Use.REPLICAS: "replicas",
    Use.ORPHANS: "orphans",
}


def load_entry_logs(spark: Any, paths: Sequence[str]) -> Any:
    """Return the records of entry logs as a DataFrame, without payloads."""
    options = {"paths": ",".join(paths), "includePayload": "false"}
    return spark.read.format("bookkeeper").options(**options, table="entrylog").load()


@frozen
class Output:
    """The output to which a job writes its result."""

    path: str
    format: str = "parquet"
    overwrite: bool = False
    options: Mapping[str, str] = field(factory=dict)
    partition_by: tuple[str, ...] = ()

    def write(self, frame: Any) -> None:
        """Write ``frame``; an output that exists already is an error unless ``overwrite`` is true."""
        writer = frame.write.format(self.format).mode("overwrite" if self.overwrite else "error")
        if self.partition_by:
            writer = writer.partitionBy(*self.partition_by)
        writer.options(**self.options).save(self.path)


def is_selector(name: str) -> bool:
    """Return whether an option of this name chooses ledgers."""
    lower = name.lower()
    return lower in SELECTORS or lower.startswith(SELECTORS[-1])


def options_of(use: Use, given: Mapping[str, str]) -> dict[str, str]:
    """Return those of ``given`` that do something for ``use``.  Unknown ones stay, so that the format refuses them."""
    return {name: value for name, value in given.items() if _uses_of(name) & use}


def _uses_of(name: str) -> Use:
    """Return the uses of an option of this name, all of them if it is not known."""
    found = _attribute_named(name)
    return ~NOWHERE if found is None else option_of(found).uses


def _full_name(name: str) -> str:
    """Return the proper name of an option given in other capitals or by its alias; an unknown name as it is."""
    found = _attribute_named(name)
    return name if found is None or option_of(found).prefix else option_name(found)


def _attribute_named(name: str) -> Any:
    lower = name.lower()
    for attribute in fields(Options):
        known, option = option_name(attribute).lower(), option_of(attribute)
        if lower in (known, (option.alias or known).lower()) or (option.prefix and lower.startswith(known)):
            return attribute
    return None


def pairs(_context: click.Context, parameter: click.Parameter, texts: Sequence[str]) -> dict[str, str]:
    """Return ``KEY=VALUE`` texts as a mapping."""
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(f"{text!r} is not KEY=VALUE", param=parameter)
        found[key.strip()] = value
    return found


# Decorators: each adds command-line options, and gives the command one value. ----------------------------------------


def metadata_argument(text: str) -> Callable[[Command], Command]:
    """Add ``--metadata``, with ``text`` to help; the command gets ``metadata_uri``."""
    return click.option(
        "--metadata",
        "metadata_uri",
        envvar="BKTX_METADATA",
        show_envvar=True,
        required=True,
        metavar="URI",
        help=text,
    )


def option_argument(text: str) -> Callable[[Command], Command]:
    """Add ``-O KEY=VALUE``, with ``text`` to help; the command gets ``options``."""
    return click.option("-O", "--option", "options", multiple=True, metavar="KEY=VALUE", callback=pairs, help=text)


def cluster_arguments(command: Command) -> Command:
    """Add ``--metadata``, the choice of ledgers, and options of the formats; the command gets ``cluster``."""

    @metadata_argument(
        "Where the cluster's metadata is: sqlite:///PATH, zk+hierarchical://HOST:PORT/ledgers or etcd://…."
    )
    @click.option("--ledgers", metavar="IDS", help='Which ledgers: "7", "1,5-9", "100-"; default: all.')
    @ledger_scope
    @click.option("--manifest", metavar="SINK", help="The ledgers that this sink has published.")
    @click.option("--password-file", metavar="FILE", help="File whose first line is the ledgers' password.")
    @option_argument("An option of the format that is read; may be given several times.")
    @client_config_argument
    @functools.wraps(command)
    def wrapped(
        *,
        metadata_uri: str,
        ledgers: str | None,
        scope_id: int,
        manifest: str | None,
        password_file: str | None,
        options: dict[str, str],
        client_config: str | None,
        **more: Any,
    ) -> Any:
        if _is_given("scope_id"):
            _check_scope(scope_id, ledgers, {*map(str.lower, options), *(["manifest"] if manifest is not None else [])})
        scope = str(scope_id) if scope_id else None
        named = {"ledgers": ledgers, "scope": scope, "manifest": manifest, "passwordFile": password_file}
        given = {key: value for key, value in named.items() if value is not None}
        return command(cluster=Cluster(metadata_uri, {**with_client_file(options, client_config), **given}), **more)

    return wrapped  # type: ignore[return-value]


def _is_given(parameter: str) -> bool:
    return click.get_current_context().get_parameter_source(parameter) is not ParameterSource.DEFAULT


def _check_scope(scope_id: int, ledgers: str | None, others: Collection[str]) -> None:
    """Refuse a scope beside what names scopes itself: ``ledgers``, or ``others``, the rest in small letters."""
    if "manifest" in others:
        raise click.UsageError("a manifest names ledgers with their scopes: leave --ledger-scope-id out")
    if "scope" in others:
        raise click.UsageError("give --ledger-scope-id or the option scope, not both")
    if scope_id and any(len(each) == QUALIFIED_NAME_LENGTH for each in re.split(r"[,\s-]+", ledgers or "")):
        raise click.UsageError("a qualified name names the scope already: leave --ledger-scope-id out")


def output_arguments(
    *, required: bool = False, partitioned: bool = False, format_option: str = "--format"
) -> Callable[[Command], Command]:
    """Add ``--output`` and its format; the command gets ``output``, None if it was not given."""

    def decorate(command: Command) -> Command:
        @click.option("--output", "output_path", required=required, metavar="PATH", help="Where to write the result.")
        @click.option(
            format_option, "output_format", default="parquet", show_default=True, help="In which format of Spark."
        )
        @click.option("--overwrite", is_flag=True, help="Replace what is there.")
        @click.option(
            "--output-option",
            "output_options",
            multiple=True,
            metavar="KEY=VALUE",
            callback=pairs,
            help="Of that format.",
        )
        @functools.wraps(command)
        def wrapped(
            *, output_path: str | None, output_format: str, overwrite: bool, output_options: dict[str, str], **more: Any
        ) -> Any:
            columns = more.pop("partition_by", ())
            output = (
                None
                if output_path is None
                else Output(output_path, output_format, overwrite, output_options, tuple(columns))
            )
            return command(output=output, **more)

        if not partitioned:
            return wrapped  # type: ignore[return-value]
        by = click.option("--partition-by", multiple=True, metavar="COLUMN", help="A directory for each of its values.")
        return by(wrapped)  # type: ignore[return-value]

    return decorate


def sink_arguments(*, uri_option: str, uri_variable: str | None = None) -> Callable[[Command], Command]:
    """Add the sink that ledgers are written to; the command gets ``sink``, a :class:`Cluster`, and ``sink_id``.

    With ``uri_variable`` its cluster is the only one of the job, and the file of clients is for it.
    """
    config_argument, config_name = (
        (sink_client_config_argument, "sink_client_config")
        if uri_variable is None
        else (client_config_argument, "client_config")
    )

    def decorate(command: Command) -> Command:
        @click.option(
            uri_option,
            "sink_uri",
            envvar=uri_variable,
            show_envvar=uri_variable is not None,
            required=True,
            metavar="URI",
            help="Metadata of the cluster that is written to.",
        )
        @click.option("--sink-id", required=True, metavar="NAME", help="The sink that publishes the ledgers.")
        @click.option(
            "--replicas", type=click.IntRange(1), help="Bookies of a ledger; most of them must have an entry."
        )
        @click.option(
            "--sink-password-file", metavar="FILE", help="File whose first line is the new ledgers' password."
        )
        @click.option(
            "--sink-option",
            "sink_options",
            multiple=True,
            metavar="KEY=VALUE",
            callback=pairs,
            help="An option of the format that is written; may be given several times.",
        )
        @config_argument
        @functools.wraps(command)
        def wrapped(
            *,
            sink_uri: str,
            replicas: int | None,
            sink_password_file: str | None,
            sink_options: dict[str, str],
            **more: Any,
        ) -> Any:
            given = with_client_file(sink_options, more.pop(config_name))
            options = quorums(replicas) | {_full_name(name): value for name, value in given.items()}
            if sink_password_file is not None:
                options["passwordFile"] = sink_password_file
            return command(sink=Cluster(sink_uri, options), **more)

        return wrapped  # type: ignore[return-value]

    return decorate


def quorums(replicas: int | None) -> dict[str, str]:
    """Return the options of ledgers on ``replicas`` bookies, of which a majority must have an entry."""
    if replicas is None:
        return {}
    return {
        "ensembleSize": str(replicas),
        "writeQuorumSize": str(replicas),
        "ackQuorumSize": str(replicas // 2 + 1),
    }
