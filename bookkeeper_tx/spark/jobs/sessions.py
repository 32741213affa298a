"""The session of ``bktx spark``: on this machine, on a cluster, or of a Spark Connect server."""

from collections.abc import Mapping
from typing import Any

from bookkeeper_tx.spark.jobs.failure import CannotBeDone
from bookkeeper_tx.spark.session import (
    LOCAL_SETTINGS,
    RECOMMENDED_SETTINGS,
    local_session,
    register_all,
    use_this_interpreter,
)

NAME = "bktx spark"


def start_session(master: str, remote: str | None, settings: Mapping[str, str]) -> Any:
    """Return a session with the formats registered.

    ``remote`` is the address of a Connect server, in place of a master; ``local[2]`` there starts one on this machine.
    Raises CannotBeDone if the packages that a client of Connect needs are not installed.
    """
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
    if remote is None:
        builder, own = builder.master(master), RECOMMENDED_SETTINGS
    else:
        # A server that runs already has its own settings, and takes only those that it can change for a session.
        builder, own = builder.remote(remote), LOCAL_SETTINGS if remote.startswith("local") else {}
    for key, value in {**own, **settings}.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except ImportError as error:
        if remote is None:
            raise
        raise CannotBeDone(f"{error}; pip install 'bookkeeper_tx[connect]' has all that --remote needs") from error
