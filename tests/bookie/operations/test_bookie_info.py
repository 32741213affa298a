"""bookkeeper_tx.bookie.operations.bookie_info."""

from pathlib import Path
from typing import Any

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.operations.bookie_info import BookieInfo
from protocol_specs.wire import status as statuses
from tests.bookie import seams


def answer(directory: str) -> Any:
    client: Any = seams.Client()
    request: Any = seams.BookieInfo()
    BookieInfo(Disk(), directory).serve(request, client)
    return client.take()[0]


def test_the_space_is_that_of_the_file_system(tmp_path: Path) -> None:
    status, total, free = answer(str(tmp_path))
    assert status is statuses.EOK
    assert total == Disk().total_bytes(str(tmp_path))
    assert 0 < free <= total


def test_a_directory_that_is_gone_is_an_io_error(tmp_path: Path) -> None:
    assert answer(str(tmp_path / "gone")) == (statuses.EIO, 0, 0)
