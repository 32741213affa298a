import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.metadata.zookeeper_paths import is_range, ledger_id_of, ledger_path, parents


@pytest.mark.parametrize(
    ("ledger_id", "path"),
    [
        (0, "/r/00/0000/L0000"),
        (1234567890, "/r/12/3456/L7890"),
        (2**31 - 2, "/r/21/4748/L3646"),
        (2**31 - 1, "/r/000/0000/0021/4748/L3647"),
        (2**63 - 1, "/r/922/3372/0368/5477/L5807"),
    ],
)
def test_known_paths(ledger_id: int, path: str) -> None:
    assert ledger_path("/r", ledger_id) == path
    assert ledger_id_of("/r", path) == ledger_id


@given(st.integers(0, 2**63 - 1))
def test_there_and_back(ledger_id: int) -> None:
    assert ledger_id_of("/a/b", ledger_path("/a/b", ledger_id)) == ledger_id


@pytest.mark.parametrize(
    "path",
    [
        "/r/LAYOUT",
        "/r/00/0000",
        "/r/00/0000/L00000",
        "/r/00/0000/X0000",
        "/x/00/0000/L0000",
        "/r/99/9999/L9999",
        "/r/000/0000/0000/0000/L0001",
        "/r/999/9999/9999/9999/L9999",
        "/r/\u0660\u0660/0000/L0000",
        "/r/idgen/ID-0000000001",
    ],
)
def test_paths_of_no_ledger(path: str) -> None:
    assert ledger_id_of("/r", path) is None


def test_parents_end_below_the_root() -> None:
    assert parents("/r/12/3456/L7890", "/r") == ["/r/12/3456", "/r/12"]
    assert parents("/r/a", "/r") == []


def test_special_nodes_are_no_ranges() -> None:
    names = [
        "available",
        "cookies",
        "LAYOUT",
        "idgen",
        "idgen-long",
        "disableHealthCheck",
        "ID-0000000000",
        "00",
        "000",
    ]
    assert [name for name in names if is_range(name, 0, long=False)] == ["00"]
    assert [name for name in names if is_range(name, 0, long=True)] == ["000"]
