"""Every defect of our client is noticed by a case; see ``test_bookie_mutants`` for the plain run and ``--full``."""

import pytest

from tests.mutants.all_mutants import MUTANTS
from tests.mutants.conftest import Trial
from tests.mutants.mutant import CLIENT, Mutant
from tests.sampling import one_in

pytestmark = pytest.mark.timeout(900)

CLIENTS = [mutant for mutant in MUTANTS.values() if mutant.role == CLIENT]


@pytest.mark.java
@pytest.mark.parametrize("mutant", one_in(6, CLIENTS), ids=str)
def test_a_mutant_is_killed(mutant: Mutant, client_trial: Trial) -> None:
    outcome = client_trial.outcome_of(mutant)
    assert outcome.killed_by, f"no case notices this: {mutant.sentence}"


def test_there_are_enough() -> None:
    assert len(CLIENTS) >= 15
