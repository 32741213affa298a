"""The loop that makes load with the client whose calls wait."""

import asyncio
from concurrent.futures import Future

import pytest

from bookkeeper_tx.cli.bench.blocking_window import cost_us, on_threads, run, windowed
from bookkeeper_tx.errors import StorageFailed


class Begun:
    """Futures that end when somebody waits for one of them, as many as are in flight then."""

    def __init__(self, count):
        self.in_flight = []
        self.most = 0
        self.operations = (self.begin(number) for number in range(count))

    def begin(self, number):
        begun = self

        class Waited(Future):
            def result(self, timeout=None):
                begun.most = max(begun.most, len(begun.in_flight))
                begun.in_flight.remove(self)
                return number

        self.in_flight.append(Waited())
        return self.in_flight[-1]


@pytest.mark.parametrize(("count", "window"), [(0, 4), (3, 8), (100, 8), (101, 1), (50, 3)])
def test_a_window_is_kept_in_flight(count, window):
    begun, found = Begun(count), []
    latencies = run(windowed(begun.operations, window, found.append))
    assert found == list(range(count))
    assert begun.most == min(count, window)
    assert latencies.slowest == max(latencies.sampled)


def test_what_waits_by_itself_has_its_result():
    found = []
    run(windowed(iter([3, 4, 5]), 8, found.append))
    assert found == [3, 4, 5]


def test_an_error_ends_it():
    failed: Future = Future()
    failed.set_exception(StorageFailed("disk"))
    with pytest.raises(StorageFailed):
        run(windowed(iter([failed]), 8))


def test_coroutines_run_on_threads():
    loop = on_threads()

    async def seven():
        return await loop.awaited(7)

    assert loop.spawn(seven()).result() == 7
    with pytest.raises(RuntimeError, match="not there"):
        run(asyncio.sleep(0))


def test_what_it_costs_by_itself():
    assert 0 <= run(cost_us(1000, 10)) < 1000
