"""``bktx cluster``: a cluster's metadata."""

from typing import Any

import click

from bookkeeper_tx.cli import options
from bookkeeper_tx.cli.connect import open_store
from bookkeeper_tx.cli.run import run


@click.group()
def cluster() -> None:
    """Set up a cluster's metadata."""


@cluster.command()
@options.metadata
def init(metadata_uri: str) -> None:
    """Create an empty cluster: root, layout and instance id.  One that is there already is left as it is.

    \b
    bktx cluster init --metadata sqlite:///tmp/cluster.db
    bktx cluster init --metadata "zk+hierarchical://127.0.0.1:2181/ledgers"
    """

    async def operation(reactor: Any) -> tuple[bool, str | None]:
        async with open_store(reactor, metadata_uri) as store:
            return await store.initialize(), await store.instance_id()

    made, instance_id = run(operation)
    click.echo(f"{'made a new cluster' if made else 'there is a cluster already'}: instance {instance_id}")
