import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.metadata.zookeeper.paths import FLAT, HIERARCHICAL, LAYOUTS, LONG_HIERARCHICAL, Branch, LedgerTree
from bookkeeper_tx.model import LedgerId

SCOPED_IDS = st.builds(
    LedgerId, st.integers(-(2**63), 2**63 - 1), st.integers(1, 2**63 - 1) | st.integers(-(2**63), -1)
)


def id_of(tree: LedgerTree, path: str) -> int | None:
    """Return the ledger at ``path``, as a list finds it: from branch to branch."""
    for branch in tree.branches(None):
        names = path.removeprefix(branch.path).split("/")[1:] if path.startswith(branch.path + "/") else []
        while names and not branch.holds_ledgers and branch.form.is_range(names[0], branch.depth):
            branch, names = branch.child(names[0]), names[1:]
        if branch.holds_ledgers and len(names) == 1 and (found := tree.ids_of(branch, names)):
            return found[0]
    return None


@pytest.mark.parametrize(
    ("layout", "ledger_id", "path"),
    [
        (HIERARCHICAL, 0, "/r/00/0000/L0000"),
        (HIERARCHICAL, 1234567890, "/r/12/3456/L7890"),
        (HIERARCHICAL, 2**31 - 2, "/r/21/4748/L3646"),
        (HIERARCHICAL, 2**31 - 1, "/r/000/0000/0021/4748/L3647"),
        (HIERARCHICAL, 2**63 - 1, "/r/922/3372/0368/5477/L5807"),
        (LONG_HIERARCHICAL, 0, "/r/000/0000/0000/0000/L0000"),
        (LONG_HIERARCHICAL, 1234567890, "/r/000/0000/0012/3456/L7890"),
        (LONG_HIERARCHICAL, 2**63 - 1, "/r/922/3372/0368/5477/L5807"),
        (FLAT, 0, "/r/L0000000000"),
        (FLAT, 1234567890, "/r/L1234567890"),
        (FLAT, 2**63 - 1, "/r/L9223372036854775807"),
    ],
)
def test_known_paths(layout: str, ledger_id: int, path: str) -> None:
    tree = LedgerTree("/r", layout)
    assert tree.path(ledger_id) == path
    assert id_of(tree, path) == ledger_id


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("ledger_id", "path"),
    [
        (LedgerId(0, 1), "/r/ID-128/0000/0000/0000/0001/0000/0000/0000/L0000"),
        (LedgerId(-1, -1), "/r/ID-128/ffff/ffff/ffff/ffff/ffff/ffff/ffff/Lffff"),
        (
            LedgerId.of_name("0123456789abcdeffedcba9876543210"),
            "/r/ID-128/0123/4567/89ab/cdef/fedc/ba98/7654/L3210",
        ),
    ],
)
def test_known_paths_of_other_scopes_are_the_same_in_each_layout(layout: str, ledger_id: int, path: str) -> None:
    tree = LedgerTree("/r", layout)
    assert tree.path(ledger_id) == path
    assert id_of(tree, path) == ledger_id


@given(st.sampled_from(LAYOUTS), st.integers(0, 2**63 - 1) | SCOPED_IDS)
def test_there_and_back(layout: str, ledger_id: int) -> None:
    tree = LedgerTree("/a/b", layout)
    assert id_of(tree, tree.path(ledger_id)) == ledger_id


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
        "/r/ID-0000000001",
        "/r/ID-128/0000/0000/0000/0000/0000/0000/0000/L0001",
        "/r/ID-128/0000/0000/0000/0001/0000/0000/0000/LFFFF",
        "/r/ID-128/0000/0000/0000/0001/0000/0000/0000/0001",
        "/r/0000/0000/0000/0001/0000/0000/0000/L0001",
    ],
)
def test_paths_of_no_ledger(path: str) -> None:
    assert id_of(LedgerTree("/r"), path) is None


def test_the_long_layout_has_no_short_paths() -> None:
    assert id_of(LedgerTree("/r", LONG_HIERARCHICAL), "/r/00/0000/L0001") is None


@pytest.mark.parametrize(
    "name",
    [
        "00/0000/L0001",
        "L001",
        "L00000000001",
        "L9999999999999999999",
        "L" + "9" * 5000,
        "L\u0660000000000",
        "ID-0000000001",
    ],
)
def test_paths_of_no_ledger_in_the_flat_layout(name: str) -> None:
    assert id_of(LedgerTree("/r", FLAT), f"/r/{name}") is None


def test_parents_end_below_the_root() -> None:
    tree = LedgerTree("/r")
    assert tree.parents("/r/12/3456/L7890") == ["/r/12/3456", "/r/12"]
    assert tree.parents("/r/a") == []
    assert tree.parents(tree.path(LedgerId(1, 1)))[-1] == "/r/ID-128"


def test_special_nodes_are_no_ranges() -> None:
    names = [
        "available",
        "cookies",
        "LAYOUT",
        "idgen",
        "idgen-long",
        "disableHealthCheck",
        "ID-0000000000",
        "ID-128",
        "00",
        "000",
    ]
    short, long = LedgerTree("/r").branches(0)
    assert [name for name in names if short.form.is_range(name, 0)] == ["00"]
    assert [name for name in names if long.form.is_range(name, 0)] == ["000"]


def test_branches_of_one_scope_and_of_all() -> None:
    tree = LedgerTree("/r", LONG_HIERARCHICAL)
    assert [branch.path for branch in tree.branches(0)] == ["/r"]
    assert [branch.path for branch in tree.branches(None)] == ["/r", "/r/ID-128"]
    (branch,) = tree.branches(-2)
    assert (branch.path, branch.depth) == ("/r/ID-128/ffff/ffff/ffff/fffe", 4)


def test_a_branch_leads_down_to_ledgers() -> None:
    branch: Branch = LedgerTree("/r").branches(None)[-1]
    for name in tree_names(LedgerId.of_name("0123456789abcdeffedcba9876543210"))[:-1]:
        assert not branch.holds_ledgers
        assert branch.form.is_range(name, branch.depth)
        branch = branch.child(name)
    assert branch.holds_ledgers


def tree_names(ledger_id: int) -> list[str]:
    return LedgerTree("/r").path(ledger_id).split("/")[3:]
