"""The entry logs of a bookie by their names."""

from pathlib import Path

import pytest

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.offline.entry_logs import EntryLogs, LogFile, list_logs, log_of
from bookkeeper_tx.errors import StorageFailed


@pytest.mark.parametrize(
    "name", ["x.log", "0a.log", "A.log", "1.log.compacting", "1.log.2.compacted", "1.txn", ".log", "1", "lastId"]
)
def test_other_names_are_no_logs(name: str) -> None:
    assert log_of(f"/l/current/{name}") is None


def test_logs_of_several_directories_ascend(tmp_path: Path) -> None:
    for name in ("a/10.log", "a/2.log128", "b/f.log", "b/2.log", "b/lastId"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    currents = [f"{tmp_path}/a", f"{tmp_path}/b"]
    assert list_logs(Disk(), currents) == [
        LogFile(2, f"{tmp_path}/a/2.log128", True),
        LogFile(2, f"{tmp_path}/b/2.log", False),
        LogFile(15, f"{tmp_path}/b/f.log", False),
        LogFile(16, f"{tmp_path}/a/10.log", False),
    ]
    logs = EntryLogs(Disk(), currents)
    assert logs.path(2, True) == f"{tmp_path}/a/2.log128"
    assert logs.path(3, False) is None
    assert logs.read(f"{tmp_path}/b/2.log", 2, 3) == b"2.l"
    with pytest.raises(StorageFailed, match="cannot read entry log"):
        logs.read(f"{tmp_path}/gone.log", 0, 1)
    logs.close()
