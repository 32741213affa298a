"""The ways that Spark is run: a client of Spark Connect, executors on one host, and a cluster of workers.

Whatever works in a session of one process (the other tests here) must work in these as well, by the same scenarios.
"""

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyspark
import pytest
from attrs import evolve

from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.spark.jobs.summary import ExitCode
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.cli.bktx_process import bktx
from tests.integration.spark.archive import make_archive
from tests.integration.spark.connect import connect_server
from tests.integration.spark.driver import SCENARIOS, SETTINGS, Driver, spark_driver, spark_home
from tests.integration.spark.process import environment
from tests.integration.spark.scenarios import COUNT, GUARDED_COUNT, OPEN_COUNT, PASSWORD, TORN_COUNT, Site
from tests.integration.spark.standalone import standalone_cluster
from tests.integration.support.our_client import OurClient, append, append_and_close
from tests.integration.support.payloads import payloads

pytestmark = pytest.mark.spark

pytest.importorskip("grpc")

CONNECT, LOCAL_CLUSTER, STANDALONE = "connect", "local-cluster", "standalone"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    directory = tmp_path_factory.mktemp("modes")
    path = directory / "password"
    path.write_bytes(PASSWORD + b"\n")
    with LocalCluster(directory, bookie_count=2) as cluster, OurClient(cluster.metadata_uri) as client:
        yield fill(cluster, client, path)


def fill(cluster: LocalCluster, client: OurClient, password_file: Path) -> Site:
    def closed(count: int, *sizes: int, password: bytes = b"", digest: DigestType = DigestType.CRC32C) -> int:
        return append_and_close(client.create_ledger(*sizes, password=password, digest=digest), payloads(count))

    torn = closed(TORN_COUNT, 2, 2, 2)
    with open_blocking_store(cluster.metadata_uri) as store:
        found = store.read_ledger(torn)
        store.write_ledger(torn, evolve(found.metadata, last_entry_id=TORN_COUNT + 4), found.version)
    unfinished = client.create_ledger(2, 2, 2)
    append(unfinished, payloads(OPEN_COUNT))
    append(unfinished, [b"not confirmed to anybody yet"])
    whole, striped = closed(COUNT, 2, 2, 2), closed(COUNT, 2, 1, 1)
    guarded = closed(GUARDED_COUNT, 2, 2, 2, password=PASSWORD, digest=DigestType.MAC)
    for index in range(2):
        cluster.restart(index)  # entries in memory go to the entry logs
    return Site(
        uri=cluster.metadata_uri,
        whole=whole,
        striped=striped,
        guarded=guarded,
        open=unfinished.ledger_id,
        torn=torn,
        logs=str(cluster.directory / "bookie-*" / "data" / "current" / "*.log"),
        password_file=str(password_file),
        executors=1,
    )


@pytest.fixture(scope="module")
def driver(request: pytest.FixtureRequest, site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """A driver whose tasks run where the parameter says."""
    directory = tmp_path_factory.mktemp(request.param)
    with ExitStack() as stack:
        if request.param == CONNECT:
            made = spark_driver(directory, site, remote=stack.enter_context(connect_server(directory)))
        elif request.param == LOCAL_CLUSTER:
            home = spark_home(directory / "spark")
            two = evolve(site, executors=2)
            where = "local-cluster[2,1,1024]"
            made = spark_driver(directory, two, master=where, settings=SETTINGS, SPARK_HOME=str(home))
        else:
            master = stack.enter_context(standalone_cluster(directory))
            made = spark_driver(directory, evolve(site, executors=2), master=master, settings=SETTINGS)
        yield stack.enter_context(made)


@pytest.mark.full
@pytest.mark.parametrize("driver", [CONNECT, STANDALONE], indirect=True)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_way_it_is_run_makes_no_difference(driver: Driver, scenario: str) -> None:
    driver.run(scenario)


@pytest.mark.full
@pytest.mark.parametrize("driver", [LOCAL_CLUSTER], indirect=True)
@pytest.mark.parametrize("scenario", list(SCENARIOS)[::3])
def test_executors_on_one_host_make_no_difference(driver: Driver, scenario: str) -> None:
    """A part of it, for they are executors as those of the cluster."""
    driver.run(scenario)


@pytest.mark.full
def test_the_command_line_of_jobs_over_connect(site: Site, tmp_path: Path) -> None:
    ledgers = ("--metadata", site.uri, "--ledgers", f"{site.whole},{site.open}")
    with connect_server(tmp_path) as url:
        job = ("spark", "--remote", url)
        shown = bktx(*job, "stats", *ledgers, timeout_s=200)
        assert (shown.returncode, shown.stdout.decode().splitlines()[-1]) == (0, "2 ledgers on 2 bookies"), shown.stderr
        exported = bktx(*job, "export", *ledgers, "--output", str(tmp_path / "out"), timeout_s=200)
        assert exported.returncode == ExitCode.DONE, exported.stderr
        assert f"{COUNT + OPEN_COUNT:,}" in exported.stdout.decode()
        wrong = bktx(*job, "export", *ledgers, "-O", "ledgrs=1", "--output", str(tmp_path / "out"), timeout_s=200)
        assert wrong.returncode == ExitCode.USAGE
        assert "did you mean ledgers" in wrong.stderr.decode().splitlines()[-1]


SUBMITTED = """
import json, sys
import bookkeeper_tx
from bookkeeper_tx.spark.session import register_all
from pyspark.sql import SparkSession, functions as F
spark = SparkSession.builder.getOrCreate()
register_all(spark)
frame = spark.read.format("bookkeeper").options(metadataServiceUri=sys.argv[1], ledger=sys.argv[2]).load()
place = F.udf(lambda _: __import__("bookkeeper_tx").__file__, "string")
(there,) = frame.groupBy(place("entry_id").alias("file")).count().collect()
print(json.dumps([bookkeeper_tx.__file__, there.file, there["count"]]))
"""


@pytest.mark.full
def test_the_package_may_come_with_the_program(site: Site, tmp_path: Path) -> None:
    """By ``--py-files``, to a driver and to executors."""
    archive = make_archive(tmp_path / "formats.zip")
    program = tmp_path / "program.py"
    program.write_text(SUBMITTED)
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    with standalone_cluster(tmp_path, workers=1) as master:
        done = subprocess.run(
            [
                *(submit, "--master", master, "--py-files", archive, "--conf", "spark.ui.enabled=false"),
                *("--conf", "spark.executor.memory=600m", program, site.uri, str(site.whole)),
            ],
            capture_output=True,
            text=True,
            timeout=800,
            cwd=tmp_path,
            env=environment(),
        )
    assert done.returncode == 0, done.stderr[-3000:]
    driver, executor, count = json.loads(done.stdout.splitlines()[-1])
    assert count == COUNT
    assert "formats.zip" in driver
    assert "formats.zip" in executor


@pytest.mark.full
def test_a_client_of_connect_reads_and_is_told_what_is_wrong(site: Site, tmp_path: Path) -> None:
    """The short form, with a server that the client itself starts."""
    with spark_driver(tmp_path, site, remote="local[2]") as driver:
        driver.run("every_entry_is_counted")
        driver.run("errors_say_what_to_do")
