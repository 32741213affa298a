"""Which requests are overdue, by their deadlines and by the bytes that came."""

from math import inf, nextafter

import pytest

from bookkeeper_tx.transport.progress import Progress

PATIENCE_S = 5.0


@pytest.fixture
def progress() -> Progress:
    return Progress(PATIENCE_S)


def just_before(deadline: float) -> float:
    return nextafter(deadline, -inf)


def test_without_any_answer_the_deadline_counts(progress: Progress) -> None:
    assert [progress.overdue(now) for now in (0.5, 4.5, 5.0)] == [0.5, 4.5, 5.0]


def test_an_answer_spares_itself_and_all_that_is_due_later(progress: Progress) -> None:
    progress.received(8.0, 7.0)
    assert progress.overdue(8.0) == just_before(7.0)
    assert progress.overdue(12.5) == just_before(7.0)
    assert progress.overdue(13.0) == 13.0, "nothing has gone on for PATIENCE_S"


def test_later_answers_spare_no_earlier_request(progress: Progress) -> None:
    progress.received(8.0, 7.0)
    for now in range(9, 30):
        progress.received(now, now + 1.0)
    assert progress.overdue(30.0) == just_before(27.0)


def test_of_many_answers_the_earliest_deadline_counts(progress: Progress) -> None:
    for deadline in (9.0, 7.0, 8.0):
        progress.received(10.0, deadline)
    assert progress.overdue(10.0) == just_before(7.0)


def test_bytes_without_an_answer_spare_everything_until_the_answer_shows_whose_they_were(progress: Progress) -> None:
    for now in range(20):
        progress.received(now, None)
        assert progress.overdue(now) == -inf
    progress.received(20.0, 8.0)
    assert progress.overdue(20.0) == just_before(8.0)


def test_beside_an_answer_bytes_without_one_say_nothing(progress: Progress) -> None:
    progress.received(20.0, None)
    progress.received(20.1, 8.0)
    progress.received(20.2, None)
    assert progress.overdue(20.3) == just_before(8.0)


def test_bytes_that_never_become_an_answer_spare_for_a_while(progress: Progress) -> None:
    progress.received(20.0, None)
    assert progress.overdue(20.0) == -inf
    assert progress.overdue(25.0) == 25.0


def test_an_answer_that_comes_amid_others_counts_as_long(progress: Progress) -> None:
    for tenth in range(100):
        progress.received(10.0 + tenth / 10, 9.0 + tenth / 10)
    assert progress.overdue(20.0) == pytest.approx(14.0, abs=0.5)
    assert progress.overdue(24.8) == pytest.approx(18.5, abs=0.5)
    assert progress.overdue(25.0) == 25.0


def test_requests_that_have_some_time_left_can_be_asked_for(progress: Progress) -> None:
    progress.received(8.0, 7.0)
    assert progress.overdue(8.0, 3.0) == just_before(7.0)
    assert progress.overdue(13.0, 3.0) == 16.0
