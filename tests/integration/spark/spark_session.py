"""One Spark session for all integration tests that need one: the fixture ``spark``, which ``conftest.py`` imports.

It is local, two tasks at a time, each tried three times.  The JVM and the Python workers see the repository first.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compat_tests.targets.jvm import SMALL_JVM

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A SparkSession, stopped at the end of the run."""
    pytest.importorskip("pyspark")
    from pyspark.sql import SparkSession

    from bookkeeper_tx.spark.session import local_session

    if (running := SparkSession.getActiveSession()) is not None:
        # A module has imported the fixture once more.
        yield running
        return
    directory = tmp_path_factory.mktemp("spark")
    events = directory / "events"
    events.mkdir()
    # Functions of test modules are sent to the workers by name.  Only the JVM keeps the path: other processes of
    # a run must not find the repository by it.
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(paths))
        session = local_session(
            "tests",
            settings={
                # Most of what tests ask for runs once: the second compiler would cost more than it gives.
                "spark.driver.extraJavaOptions": " ".join(SMALL_JVM),
                # Tests look there for secrets that must not be shown.
                "spark.eventLog.enabled": "true",
                "spark.eventLog.compress": "false",
                "spark.eventLog.dir": events.as_uri(),
                "spark.local.dir": str(directory / "local"),
                "spark.sql.warehouse.dir": str(directory / "warehouse"),
            },
        )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
