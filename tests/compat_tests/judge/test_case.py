"""A case is entered if it is well formed, and runs after the cases that it depends on."""

import pytest

from compat_tests.catalogue import load
from compat_tests.judge.case import CATALOGUE, enter, with_dependencies
from tests.compat_tests.judge.fake_environment import BASE, make_case

load()


def test_what_others_depend_on_comes_along():
    found = with_dependencies([CATALOGUE["BKW-BASE-002"]], BASE)
    assert [case.id for case in found] == ["BKW-BASE-001", "BKW-BASE-002"]


@pytest.mark.parametrize(
    ("options", "error"),
    [({"case_id": "BKW-X-1"}, "no case id"), ({"case_id": BASE}, "taken"), ({"site": "moon"}, "no site 'moon'")],
)
def test_a_case_that_is_not_well_formed_is_refused(options, error):
    with pytest.raises(ValueError, match=error):
        enter(make_case(**{"case_id": "BKW-X-001", **options}))
