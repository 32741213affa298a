"""Elections, and any order of events."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from tests.replicated_log.candidates import LEASE_S, Candidate, Election
from tests.replicated_log.logs import outcome
from tests.sampling import examples

NAMES = ("ann", "ben", "cid")

which = st.sampled_from(range(len(NAMES)))


class Chance(RuleBasedStateMachine):
    """Candidates that sleep, die, resign and are cut off, and messages that are late or lost: never do two lead."""

    def __init__(self) -> None:
        super().__init__()
        self.election = Election(*NAMES)
        self.asleep: set[Candidate] = set()
        self.dead: set[Candidate] = set()
        self.cut_off: set[Candidate] = set()

    def pass_time(self, seconds: float) -> None:
        self.election.pass_time(seconds, self.asleep | self.dead, self.cut_off)

    @rule(seconds=st.floats(0.1, LEASE_S))
    def wait(self, seconds: float) -> None:
        self.pass_time(seconds)

    @rule(which=which, count=st.integers(1, 4))
    def deliver_of_who_is_cut_off(self, which: int, count: int) -> None:
        network = self.election.candidates[which].network
        for _ in range(min(count, len(network.messages))):
            network.deliver()

    @rule(which=which, late=st.booleans())
    def lose(self, which: int, late: bool) -> None:
        network = self.election.candidates[which].network
        if network.messages:
            (network.delay if late else network.lose)()

    @rule(away=st.booleans())
    def store_away(self, away: bool) -> None:
        self.election.state.away = away

    @rule(which=which, cut_off=st.booleans())
    def cut(self, which: int, cut_off: bool) -> None:
        (self.cut_off.add if cut_off else self.cut_off.discard)(self.election.candidates[which])

    @rule(which=which, asleep=st.booleans())
    def sleep(self, which: int, asleep: bool) -> None:
        (self.asleep.add if asleep else self.asleep.discard)(self.election.candidates[which])

    @precondition(lambda self: len(self.dead) < len(NAMES) - 1)
    @rule(which=which)
    def kill(self, which: int) -> None:
        self.dead.add(self.election.candidates[which])

    @rule(which=which)
    def stand_again(self, which: int) -> None:
        """Somebody whose campaign has ended, or who gives it up."""
        candidate = self.election.candidates[which]
        if candidate not in self.asleep | self.dead and not candidate.leads:
            candidate.waiting.cancel()
            candidate.stand()

    @rule(which=which)
    def resign(self, which: int) -> None:
        candidate = self.election.candidates[which]
        if candidate not in self.asleep | self.dead and candidate.leadership is not None:
            outcome(candidate.leadership.resign())

    def teardown(self) -> None:
        """In the end one leads, of those who are left."""
        self.election.state.away = False
        self.asleep.clear()
        self.cut_off.clear()
        self.pass_time(0.1)  # who was asleep may have lost the lead
        for index, each in enumerate(list(self.election.candidates)):
            if each not in self.dead and each.told and not each.leads:
                again = Candidate(self.election.logs, each.name)
                again.clock.advance(self.election.now_s)
                self.election.candidates[index] = again
        self.pass_time(3 * LEASE_S)
        assert len([each for each in self.election.candidates if each.leads and each not in self.dead]) == 1


def test_never_do_two_lead_and_in_the_end_one_does() -> None:
    run_state_machine_as_test(Chance, settings=settings(max_examples=examples(100), deadline=None))
