"""The records of a case's ledgers, when the judged client has deleted them."""

from collections.abc import Callable
from typing import Any

import pytest
from kazoo.exceptions import NoNodeError

from compat_tests.client.metadata_root import MetadataRoot
from compat_tests.judge.verdict import Mismatch


class Empty:
    """A session with an empty ZooKeeper."""

    def get(self, path: str) -> Any:
        raise NoNodeError


@pytest.mark.parametrize(
    "look",
    [
        lambda root: root.raw(7),
        lambda root: root.read(7),
        lambda root: root.version(7),
        lambda root: root.delete(7),
        lambda root: root.change(7, lambda record: record),
    ],
)
def test_a_record_that_is_gone_fails_the_case(look: Callable[[MetadataRoot], object]) -> None:
    with pytest.raises(Mismatch, match="the metadata of ledger 7"):
        look(MetadataRoot(Empty(), "zk:2181", "/root"))
