"""Recovery for programs without a reactor: the client on asyncio does it, on a thread of its own for this call.

Recovery fences the ledger, so that its writer cannot add any more, and closes it at its last entry.  The thread has an
event loop whether the caller has one or not, as notebooks do.
"""

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

from attrs import evolve

from bookkeeper_tx.aio.client import BookKeeper
from bookkeeper_tx.config import ClientConfig, WireProtocol
from bookkeeper_tx.errors import BookKeeperError, RequestTimedOut
from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.model import DigestType, LedgerMetadata, ledger_name
from protocol_specs.ledger_id import SCOPED_MIN


def recover_ledger(
    uri: str,
    ledger_id: int,
    password: bytes,
    digest_type: DigestType = DigestType.CRC32C,
    timeout_s: float = 60.0,
    *,
    config: ClientConfig | None = None,
) -> LedgerMetadata:
    """Fence and close a ledger of the cluster at ``uri``, unless it is closed; return its metadata.

    ``config`` is the client's configuration.

    Raises the error of opening the ledger: NoSuchLedger, Unauthorized, or the reason for which it stays in recovery;
    RequestTimedOut when it took longer than ``timeout_s``.
    """
    failed = recover_ledgers(uri, [ledger_id], password, digest_type, timeout_s, config=config)
    if failed:
        raise failed[ledger_id]
    with open_blocking_store(uri, timeout_s, None if config is None else config.metadata_security) as store:
        return store.read_ledger(ledger_id).metadata


def recover_ledgers(
    uri: str,
    ledger_ids: Iterable[int],
    password: bytes,
    digest_type: DigestType = DigestType.CRC32C,
    timeout_s: float = 60.0,
    *,
    config: ClientConfig | None = None,
    make_client: Callable[[str, ClientConfig], Any] = BookKeeper,
) -> dict[int, BookKeeperError]:
    """Recover several ledgers of one password, one after the other; return the errors of those that failed.

    ``timeout_s`` is for all of them together; those that it did not reach in that time are among the failed.
    ``make_client`` is for tests.
    """
    wanted = [int(ledger_id) for ledger_id in ledger_ids]
    config = config or ClientConfig()
    if any(ledger_id >= SCOPED_MIN for ledger_id in wanted):
        config = evolve(config, protocol=WireProtocol.V3)  # V2 cannot name a ledger of a scope
    failed: dict[int, BookKeeperError] = {}
    left = list(wanted)
    under_way: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[None]]] = []
    given_up = Event()

    async def recover_all() -> None:
        task = asyncio.current_task()
        assert task is not None
        under_way.append((asyncio.get_running_loop(), task))
        if given_up.is_set():
            return  # before this had begun, so that nothing was cancelled
        async with asyncio.timeout(timeout_s), make_client(uri, config) as client:
            while left:
                try:
                    async with await client.open_ledger(left[0], password, digest_type):
                        pass
                except BookKeeperError as error:
                    failed[left[0]] = error
                del left[0]

    with ThreadPoolExecutor(1, "recovery") as thread:
        try:
            thread.submit(lambda: asyncio.run(recover_all())).result()
        except TimeoutError:
            late = f"not recovered within {timeout_s:g} s"
            failed.update((each, RequestTimedOut(f"ledger {ledger_name(each)}: {late}")) for each in left)
        except BookKeeperError as error:
            failed.update((each, type(error)(f"ledger {ledger_name(each)}: {error}")) for each in left)
        except KeyboardInterrupt:
            given_up.set()
            for loop, task in under_way:
                loop.call_soon_threadsafe(task.cancel)
            raise
    return failed
