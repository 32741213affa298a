"""The operations of our client for the conformance suite: a method for each verb of docs/conformance/driver.md."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.driver import Driver, Promise
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.testing.conformance_driver.lines import (
    OK,
    Request,
    Unsupported,
    Values,
    config_of,
    described,
    listed,
    number_of,
    reported,
)


class Session:
    """The clients and the open ledgers of one driver; a method for each verb.

    Clients are of any face whose methods return promises of ``driver``.
    """

    def __init__(self, driver: Driver, make_client: Callable[[str, ClientConfig], Any]) -> None:
        self._driver = driver
        self._make_client = make_client
        self._clients: dict[str, Any] = {}
        self._handles: list[Any] = []

    async def run(self, request: Request) -> Values:
        """Carry a request out; return the values of its reply."""
        verb: Callable[[Request], Awaitable[Values]] | None = getattr(self, f"do_{request.verb}", None)
        if verb is None:
            raise Unsupported(f"there is no {request.verb} here")
        return await verb(request)

    # Clients ---------------------------------------------------------------------------------------------------------

    async def do_connect(self, request: Request) -> Values:
        client = self._make_client(request.text("uri"), config_of(request))
        await client.start()
        self._clients[request.text("client", "")] = client
        return {}

    async def do_disconnect(self, request: Request) -> Values:
        await self._clients.pop(request.text("client", "")).close()
        return {}

    def _client(self, request: Request) -> Any:
        return self._clients[request.text("client", "")]

    # Ledgers ---------------------------------------------------------------------------------------------------------

    async def do_create(self, request: Request) -> Values:
        if request.flag("explicit_ids"):
            raise Unsupported("the writer gives the ids of its entries")
        client = self._client(request)
        writer = await client.create_ledger(
            request.integer("ensemble"),
            request.integer("write"),
            request.integer("ack"),
            DigestType[request.text("digest", "CRC32C")],
            request.data("password", b""),
            {name: bytes.fromhex(value) for name, value in request.under("custom.").items()},
            ledger_id=request.integer("ledger") if request.has("ledger") else None,
            deferred_sync=request.flag("deferred_sync"),
        )
        return self._opened(writer)

    async def do_open(self, request: Request) -> Values:
        client = self._client(request)
        opened = client.open_ledger if request.flag("recovery", True) else client.open_ledger_no_recovery
        digest = DigestType[request.text("digest", "CRC32C")]
        return self._opened(await opened(request.integer("ledger"), request.data("password", b""), digest))

    async def do_delete(self, request: Request) -> Values:
        await self._client(request).delete_ledger(request.integer("ledger"))
        return {}

    async def do_ledgers(self, request: Request) -> Values:
        return {"ledgers": listed(await self._client(request).list_ledgers())}

    async def do_metadata(self, request: Request) -> Values:
        if request.has("handle"):
            return described(self._handle(request).metadata)
        return described(await self._client(request).ledger_metadata(request.integer("ledger")))

    async def do_bookies(self, request: Request) -> Values:
        client = self._client(request)
        found = {}
        for bookie_id in sorted(await client.writable_bookies()):
            disk = await client.bookie_info(bookie_id)
            found[bookie_id] = f"{disk.free_bytes},{disk.total_bytes}"
        return found

    async def do_list_entries(self, request: Request) -> Values:
        found = await self._client(request).entries_of(request.integer("ledger"), request.text("bookie"))
        return {"ids": listed(found), "count": len(found)}

    def _opened(self, handle: Any) -> Values:
        self._handles.append(handle)
        found = {"ledger": int(handle.ledger_id), "last_add_confirmed": handle.last_add_confirmed}
        return {"handle": len(self._handles), **found}

    def _handle(self, request: Request) -> Any:
        return self._handles[request.integer("handle") - 1]

    def _reader(self, request: Request) -> Any:
        """A reader of the handle's ledger: Java's writers read as well."""
        handle = self._handle(request)
        if hasattr(handle, "read"):
            return handle
        raise Unsupported("a writer does not read: open the ledger")

    # Writing ---------------------------------------------------------------------------------------------------------

    async def do_append(self, request: Request) -> Values:
        return {"entry": await self._handle(request).append(request.data("body"))}

    async def do_append_many(self, request: Request) -> Values:
        writer, order = self._handle(request), list[int]()
        bodies = [bytes.fromhex(body) for body in request.text("bodies").split(",")]
        outcomes = [(OK, -1)] * len(bodies)
        all_ended: Promise[None] = self._driver.promise()

        def ended(index: int, error: Exception | None, entry_id: Any) -> None:
            order.append(index)
            outcomes[index] = (OK, entry_id) if error is None else (number_of(error), -1)
            if len(order) == len(bodies):
                all_ended.callback(None)

        for index, body in enumerate(bodies):
            self._driver.when_done(writer.append(body), partial(ended, index))
        await all_ended
        return {
            "codes": listed(code for code, _ in outcomes),
            "entries": listed(entry for _, entry in outcomes),
            "order": listed(order),
        }

    async def do_force(self, request: Request) -> Values:
        await self._handle(request).force()
        return {}

    async def do_write_last_add_confirmed(self, request: Request) -> Values:
        return {"entry": await self._handle(request).write_last_add_confirmed()}

    async def do_close(self, request: Request) -> Values:
        handle = self._handle(request)
        if hasattr(handle, "append"):
            await handle.close()
        return {}

    # Reading ---------------------------------------------------------------------------------------------------------

    async def do_read(self, request: Request) -> Values:
        reader = self._reader(request)
        read = reader.read_unconfirmed if request.flag("unconfirmed") else reader.read
        batch = request.flag("batch")
        return reported(await read(request.integer("first"), request.integer("last"), batch))

    async def do_batch_read(self, request: Request) -> Values:
        reader = self._reader(request)
        read = reader.read_batch_unconfirmed if request.flag("unconfirmed") else reader.read_batch
        return reported(await read(request.integer("start"), request.integer("count"), request.integer("size")))

    async def do_last_add_confirmed(self, request: Request) -> Values:
        handle, source = self._handle(request), request.text("from", "handle")
        if source == "handle":
            return {"entry": handle.last_add_confirmed}
        if source not in ("quorum", "any", "explicit"):
            raise Unsupported(f"the last add confirmed from {source}")
        reader = self._reader(request)
        return {"entry": await reader.read_last_add_confirmed(True if source == "explicit" else None)}

    async def do_await_entry(self, request: Request) -> Values:
        reader = self._reader(request)
        timeout_s = request.integer("timeout_ms") / 1000
        last, entry = await reader.read_last_add_confirmed_and_entry(request.integer("entry"), timeout_s)
        found = {"last_add_confirmed": last, "found": entry is not None}
        return found if entry is None else {**found, "body": entry.payload.hex()}

    async def do_length(self, request: Request) -> Values:
        return {"length": self._handle(request).length}
