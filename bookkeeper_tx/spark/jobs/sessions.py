"""The session of ``bktx spark``: on this machine, on a cluster, or of a Spark Connect server."""

from collections.abc import Mapping
from typing import Any

from bookkeeper_tx.spark.session import RECOMMENDED_SETTINGS, local_session, register_all, use_this_interpreter

NAME = "bktx spark"


def start_session(master: str, remote: str | None, settings: Mapping[str, str]) -> Any:
    """Return a session that knows the formats; ``remote`` is the address of a Connect server, in place of a master."""
    if remote is None and master.startswith("local"):
        session = local_session(NAME, master=master, settings=settings)
    else:
        session = _elsewhere(master, remote, settings)
    register_all(session)
    return session


def _elsewhere(master: str, remote: str | None, settings: Mapping[str, str]) -> Any:
    from pyspark.sql import SparkSession

    use_this_interpreter()
    builder = SparkSession.builder.appName(NAME)
    builder = builder.master(master) if remote is None else builder.remote(remote)
    # A server that runs already has its own settings; those that it can change for a session it takes.
    for key, value in {**(RECOMMENDED_SETTINGS if remote is None else {}), **settings}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
