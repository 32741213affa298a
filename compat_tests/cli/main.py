"""``bookkeeper-conformance``: judge a bookie or a client, see the cases, make reports."""

import click

from compat_tests.cli.bookie import bookie
from compat_tests.cli.cases import list_cases, show
from compat_tests.cli.client import client
from compat_tests.cli.matrix import matrix
from compat_tests.cli.report import report


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="bookkeeper_tx")
def main() -> None:
    """Say whether a bookie, or a client, speaks the Apache BookKeeper protocol.

    \b
      bookkeeper-conformance bookie --address 127.0.0.1:3181
      bookkeeper-conformance client -- ./my-driver
      bookkeeper-conformance list 'BKW-READ-*'
      bookkeeper-conformance show BKW-READ-001
    """


main.add_command(bookie)
main.add_command(client)
main.add_command(list_cases)
main.add_command(show)
main.add_command(report)
main.add_command(matrix)
