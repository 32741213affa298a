"""bookkeeper_tx.bookie.operations.bookie_info."""

from pathlib import Path
from typing import Any

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.operations.bookie_info import WAITING_MAX, BookieInfo
from protocol_specs.wire import status as statuses
from tests.bookie import seams
from tests.bookie.workers import InlineWorker, SteppedWorker


def answer(directory: str) -> Any:
    client: Any = seams.Client()
    request: Any = seams.BookieInfo()
    BookieInfo(Disk(), [directory], InlineWorker()).serve(request, client)
    return client.take()[0]


def test_the_space_is_that_of_the_file_system(tmp_path: Path) -> None:
    status, total, free = answer(str(tmp_path))
    assert status is statuses.EOK
    assert total == Disk().total_bytes(str(tmp_path))
    assert 0 < free <= total


def test_a_directory_that_is_gone_is_an_io_error(tmp_path: Path) -> None:
    assert answer(str(tmp_path / "gone")) == (statuses.EIO, 0, 0)


def test_only_so_many_wait_for_the_disk(tmp_path: Path) -> None:
    worker, request, client = SteppedWorker(), seams.BookieInfo(), seams.Client()
    parts: Any = (request, client)
    info = BookieInfo(Disk(), [str(tmp_path)], worker)
    for _ in range(WAITING_MAX):
        info.serve(*parts)
    assert client.take() == []
    info.serve(*parts)
    assert client.take() == [(statuses.ETOOMANYREQUESTS, 0, 0)]
    worker.step()
    info.serve(*parts)
    worker.run_all()
    assert [status for status, _, _ in client.take()] == [statuses.EOK] * (WAITING_MAX + 1)
