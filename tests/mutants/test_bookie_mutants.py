"""Every defect of our bookie is noticed by a case.

The plain run tries one mutant in six and ``--full`` all of them, each until a case notices it.  With ``--keep-runs``
each meets all cases, and which of them notice it is kept to be published.
"""

import pytest

from compat_tests.catalogue import load
from compat_tests.judge.case import Role
from tests.mutants.all_mutants import MUTANTS
from tests.mutants.conftest import Trial
from tests.mutants.first_cases import FIRST_CASE_LIMITS_S, FIRST_CASES
from tests.mutants.mutant import BOOKIE, TABLE, Mutant
from tests.sampling import one_in

pytestmark = pytest.mark.timeout(900)  # a mutant that hangs meets the limit of every case

BOOKIES = [mutant for mutant in MUTANTS.values() if mutant.role == BOOKIE]


@pytest.mark.parametrize("mutant", one_in(6, BOOKIES), ids=str)
def test_a_mutant_is_killed(mutant: Mutant, bookie_trial: Trial) -> None:
    outcome = bookie_trial.outcome_of(mutant)
    assert outcome.killed_by, f"no case notices this: {mutant.sentence}"


def test_about_half_of_them_are_made_from_the_tables_of_answers() -> None:
    assert len(BOOKIES) >= 40
    assert 5 * sum(mutant.origin == TABLE for mutant in BOOKIES) >= 2 * len(BOOKIES)


def test_every_mutant_says_what_is_wrong_with_it() -> None:
    assert all(mutant.sentence.endswith((".", ")")) for mutant in MUTANTS.values())
    assert len({mutant.sentence for mutant in MUTANTS.values()}) == len(MUTANTS)


def test_what_is_to_notice_a_mutant_exists() -> None:
    assert FIRST_CASES.keys() | FIRST_CASE_LIMITS_S.keys() <= MUTANTS.keys()
    names = {role: {name for case in load(role) for name in (case.id, case.area)} for role in Role}
    strange = {each.name: {*each.areas} - names[Role(each.role)] for each in MUTANTS.values()}
    assert {name: areas for name, areas in strange.items() if areas} == {}
