"""``bookkeeper-conformance client``: play scripted bookies to a client."""

import shutil
from pathlib import Path
from typing import Any

import click

from compat_tests.cli.finish import judge_and_report
from compat_tests.cli.options import order_of, read_features, run_options
from compat_tests.client.client_environment import ClientEnvironment
from compat_tests.client.client_target import of_command, parse_client
from compat_tests.client.listen_address import ListenAddress
from compat_tests.judge.case import Role
from compat_tests.targets.target import BadTarget


@click.command()
@click.option("--target", metavar="NAME", help="ours[:aio|:blocking], java:RELEASE or docker:RELEASE; no driver then.")
@click.option("--listen", default="127.0.0.1", metavar="HOST[:PORT-PORT]", help="Where the scripted bookies listen.")
@click.option("--metadata", metavar="URI", help="zk+hierarchical://host:port/any: use this ZooKeeper, start none.")
@run_options
@click.argument("driver", nargs=-1, type=click.UNPROCESSED)
def client(
    target: str | None,
    listen: str,
    metadata: str | None,
    driver: tuple[str, ...],
    features_path: Path | None,
    **options: Any,
) -> None:
    """Judge a client.

    DRIVER is the command of a small program that makes the client do what it reads on standard input;
    docs/conformance/driver.md says how, and has examples.  It stands after two dashes:

    \b
      bookkeeper-conformance client --html report.html -- ./my-driver --its-own-option

    The scripted bookies are found in a ZooKeeper: the one that --metadata names, or one that is started, which takes
    the extra `all` (pip install '.[all]').

    Exit codes are those of `bookkeeper-conformance bookie`.
    """
    if bool(driver) == (target is not None):
        raise click.UsageError(
            "give either the command of a driver after --, or --target ours|java:RELEASE|docker:RELEASE"
        )
    feature_file = read_features(features_path)
    try:
        client_target = (
            parse_client(target) if target else of_command(driver, feature_file.implementation, feature_file.release)
        )
        environment = ClientEnvironment(client_target, metadata, ListenAddress.parse(listen))
    except (BadTarget, ValueError) as error:
        raise click.UsageError(str(error)) from None
    order = order_of(Role.CLIENT, feature_file, client_target.info.implementation, options)
    if driver and shutil.which(driver[0]) is None:
        raise click.UsageError(f"{driver[0]}: there is no such command, or it may not be executed")
    judge_and_report(environment, lambda environment: environment, order, options)
