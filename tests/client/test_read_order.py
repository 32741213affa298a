"""Which bookies are asked last."""

from twisted.internet.task import Clock

from bookkeeper_tx.client.read_order import ASKED_LAST_S, INSISTING_MAX, INSISTING_PART, ReadOrder
from bookkeeper_tx.transport.pace import EVERY, FIRST


def took(order: ReadOrder, bookie_id: str, seconds: float, answers: int = FIRST) -> None:
    for _ in range(answers):
        order.pace(bookie_id).took(seconds)


def test_a_bookie_that_takes_much_longer_than_the_fastest_is_asked_last_for_a_while() -> None:
    clock = Clock()
    order = ReadOrder(clock, 2.0)
    took(order, "fast", 0.001)
    took(order, "usual", 0.02)
    took(order, "slow", 0.2)
    assert set(order.last) == {"slow"}
    clock.advance(ASKED_LAST_S)
    assert not order.last
    assert not order.last_until, "nothing is left that would cost the reads of others"
    took(order, "slow", 0.2)
    assert set(order.last) == {"slow"}, "it is measured again"
    clock.advance(ASKED_LAST_S)
    took(order, "slow", 0.001, 10 * EVERY)
    assert not order.last, "and what it took before is forgotten"


def test_bookies_that_are_all_slow_are_asked_as_ever() -> None:
    order = ReadOrder(Clock(), 2.0)
    for bookie_id in ("a", "b", "c"):
        took(order, bookie_id, 0.5)
    assert not order.last


def test_a_bookie_is_asked_last_while_it_owes_an_answer() -> None:
    order = ReadOrder(Clock(), 2.0)
    order.owes("a")
    order.owes("a")
    order.paid("a")
    assert set(order.last) == {"a"}
    order.paid("a")
    assert not order.last_until


def test_new_figures_of_one_that_owes_an_answer_change_nothing() -> None:
    clock = Clock()
    order = ReadOrder(clock, 2.0)
    took(order, "fast", 0.001)
    order.owes("slow")
    took(order, "slow", 0.2)
    clock.advance(3600)
    assert set(order.last) == {"slow"}
    order.paid("slow")
    assert not order.last


def test_a_tenth_of_the_slow_reads_may_go_to_bookies_that_are_slow_themselves() -> None:
    order = ReadOrder(Clock(), 2.0)
    insisting = 0
    for _ in range(1000):
        order.owes("a")
        insisting += order.may_insist()
    assert 1000 * INSISTING_PART < insisting <= 1000 * INSISTING_PART + INSISTING_MAX
