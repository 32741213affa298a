"""How a bookie's process ends: its exit code, and the line that says why."""

import os
import signal
import subprocess
from pathlib import Path

from bookkeeper_tx.testing.local_cluster import LocalBookie, LocalCluster
from compat_tests.targets.unavailable import Unavailable
from tests.integration.support.our_client import OurClient, append_and_close


def test_a_bookie_whose_directory_is_removed_ends_with_1_and_says_why(tmp_path: Path) -> None:
    with LocalCluster(tmp_path, 1, settings={"diskCheckInterval": 200}) as cluster:
        [bookie] = cluster.bookies
        with OurClient(cluster.metadata_uri) as client:
            append_and_close(client.create_ledger(), [b"x"])
        (bookie.directory / "data" / "current").rename(bookie.directory / "away")
        assert bookie.wait() == 1
        assert [line for line in bookie.log.splitlines() if line.startswith("bookie: ") and "current" in line]


class FirstProcess(LocalBookie):
    """A bookie that is process 1, as in a container."""

    def command(self, wire_compat: str = "") -> list[str]:
        return ["unshare", "--pid", "--fork", *super().command(wire_compat)]

    def ask_to_stop(self) -> None:
        # The process that was launched waits for the bookie, and ends as it does.
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text(encoding="ascii")
        os.kill(int(children), signal.SIGTERM)


def test_a_clean_stop_as_process_1_ends_with_0(tmp_path: Path) -> None:
    try:
        subprocess.run(["unshare", "--pid", "--fork", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Unavailable(f"no process can be process 1 of its own (that needs Linux, and root): {error}") from error
    bookie = FirstProcess(tmp_path / "bookie", f"sqlite://{tmp_path}/metadata.db", {}, [])
    bookie.launch()
    try:
        bookie.wait_until_ready()
        assert bookie.stop() == 0, bookie.log_end()
    finally:
        bookie.kill()
    assert "while stopping" not in bookie.log
