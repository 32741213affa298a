"""kazoo's connections: which server they go to, and why the last one has ended."""

from collections.abc import Callable
from functools import partial
from typing import Any

from kazoo.handlers.threading import SequentialThreadingHandler


class Connections(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo has no types
    """kazoo's threads and sockets.

    On kazoo's thread, ``trying(address)`` is called before each attempt to connect, and ``died(error)`` if the thread
    ends by an error, of which kazoo itself tells nobody.
    """

    def __init__(self, trying: Callable[[Any], None], died: Callable[[Exception], None]) -> None:
        super().__init__()
        self.trying = trying
        self._died = died

    def create_connection(self, address: Any, **named: Any) -> Any:
        self.trying(address)
        return super().create_connection(address, **named)

    def spawn(self, function: Callable[..., None], *args: Any, **named: Any) -> Any:
        return super().spawn(partial(self._run, function), *args, **named)

    def _run(self, function: Callable[..., None], *args: Any, **named: Any) -> None:
        try:
            function(*args, **named)
        except Exception as error:
            self._died(error)
