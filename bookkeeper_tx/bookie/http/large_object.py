"""A JSON object that may become too large for an answer."""

from collections.abc import Iterable
from typing import Any, Final

from bookkeeper_tx.bookie.http.answer import JSON, OK, Answer, json_text
from bookkeeper_tx.threads.worker import Threads

_BEGIN: Final = "{\n"
_END: Final = "\n}"


class TooLarge(Exception):
    """The object has more bytes than it may have."""


class LargeObject:
    """An object that is made of members one after the other, as the bytes that are sent.

    ``threads`` does the work; ``bytes_max``: how many it may have.
    """

    def __init__(self, threads: Threads, bytes_max: int) -> None:
        self._threads = threads
        self._bytes_max = bytes_max
        self._pieces: list[bytes] = []
        self._size = len(_BEGIN + _END)

    async def add(self, members: Iterable[tuple[str, Any]]) -> None:
        """Add members, with names that it has not; raises TooLarge."""
        await self._threads.run(self._add, members)

    async def answer(self) -> Answer:
        """Answer with the object; to be called at the end."""
        return Answer(await self._threads.run(self._body), OK, JSON)

    def _add(self, members: Iterable[tuple[str, Any]]) -> None:
        for name, value in members:
            text = json_text({name: value})
            piece = text[len(_BEGIN) : -len(_END)].encode("utf-8", "replace")
            self._size += len(piece) + len(",\n")
            if self._size > self._bytes_max:
                raise TooLarge
            self._pieces.append(piece)

    def _body(self) -> bytes:
        if not self._pieces:
            return json_text({}).encode()
        pieces, self._pieces = self._pieces, []
        return _BEGIN.encode() + b",\n".join(pieces) + _END.encode()
