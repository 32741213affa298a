import pytest

from bookkeeper_tx.spark.writing.owed_replies import OwedReplies


@pytest.fixture
def owed():
    replies = OwedReplies()
    replies.sent(range(10))
    return replies


def test_answers_in_order_move_the_first(owed):
    owed.answered(range(4))
    assert owed.first == 4
    owed.answered(range(4, 10))
    assert owed.first is None
    assert not owed


def test_an_early_answer_waits_for_those_before_it(owed):
    owed.answered([5, 3, 1])
    assert owed.first == 0
    owed.answered([0, 2])
    assert owed.first == 4
    owed.answered([4])
    assert owed.first == 6


def test_a_range_with_a_gap_among_what_is_owed_strikes_off_its_own_ids_only():
    replies = OwedReplies()
    replies.sent([0, 1, 3, 4, 5])
    replies.answered(range(4))
    assert replies.first == 4
    replies.answered(range(4, 9))
    assert not replies


def test_a_range_behind_early_answers_moves_over_them(owed):
    owed.answered([3, 4])
    owed.answered(range(3))
    assert owed.first == 5
    owed.answered(range(5, 10))
    assert not owed


def test_answers_that_nobody_waits_for_change_nothing(owed):
    owed.answered(range(3))
    owed.answered([0, 77, -1])
    assert owed.first == 3


def test_a_bookie_of_a_striped_ledger_owes_some_entries_only():
    replies = OwedReplies()
    replies.sent([0, 2, 4])
    replies.answered([2])
    assert replies.first == 0
    replies.answered([0])
    assert replies.first == 4
