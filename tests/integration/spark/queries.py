"""Streaming queries of tests, started even on a busy machine."""

from collections.abc import Callable
from typing import Any, Final

from tests.integration.support.our_client import poll

PATIENCE_S: Final = 240.0
_TRIES: Final = 5


def come_up(start: Callable[[], Any]) -> Any:
    """Start a query.  Spark gives the process that plans it 10 s to import pyspark, which a busy machine may need."""
    for _ in range(_TRIES):
        query = start()
        assert poll(lambda query=query: not _is_initializing(query), PATIENCE_S)  # type: ignore[misc]
        if query.exception() is None or "Python worker failed to connect back" not in str(query.exception()):
            break
    return query


def _is_initializing(query: Any) -> bool:
    return query.isActive and query.status["message"].startswith("Initializing")
