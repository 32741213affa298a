"""The loop that makes load on asyncio."""

import asyncio

import pytest

from bookkeeper_tx.cli.bench.aio_window import cost_us, windowed
from bookkeeper_tx.errors import StorageFailed


class Operations:
    """Operations that end when the test says so."""

    def __init__(self, count):
        self.begun = []
        self._count = count

    def __iter__(self):
        for _ in range(self._count):
            self.begun.append(asyncio.get_running_loop().create_future())
            yield self.begun[-1]


async def begun(operations, window, **options):
    running = asyncio.ensure_future(windowed(iter(operations), window, **options))
    await asyncio.sleep(0)
    return running


def test_one_begins_where_one_ends():
    async def scenario():
        operations, results = Operations(4), []
        done = await begun(operations, 3, took=results.append)
        assert len(operations.begun) == 3
        operations.begun[1].set_result("b")
        await asyncio.sleep(0)
        assert len(operations.begun) == 4
        for index, result in ((0, "a"), (2, "c"), (3, "d")):
            assert not done.done()
            operations.begun[index].set_result(result)
        await done
        assert results == ["b", "a", "c", "d"]

    asyncio.run(scenario())


@pytest.mark.parametrize(("count", "clock_every", "sampled"), [(67, 16, 4), (3, 1, 3), (0, 1, 1)])
def test_some_are_sampled(count, clock_every, sampled):
    async def scenario():
        operations = Operations(count)
        done = await begun(operations, 20, clock_every=clock_every)
        for future in operations.begun:  # grows meanwhile
            future.set_result(0)
            await asyncio.sleep(0)
        latencies = await done
        assert len(latencies.sampled) == sampled
        assert latencies.slowest == max(latencies.sampled)

    asyncio.run(scenario())


def test_the_first_error_ends_it():
    async def scenario():
        operations = Operations(10)
        done = await begun(operations, 3)
        operations.begun[1].set_exception(StorageFailed("disk"))
        operations.begun[0].set_result(0)
        with pytest.raises(StorageFailed):
            await done
        assert len(operations.begun) == 3 or len(operations.begun) == 4

    asyncio.run(scenario())


def test_what_it_costs_by_itself():
    assert 0 <= asyncio.run(cost_us(1000, 10)) < 1000
