"""Watches on keys of etcd, each of which tells of one change: whoever is told reads again, and watches again.

They share one stream to a server, and one thread that reads it.  The stream begins with the first watch, and ends
when its connection does; then all watches are gone, which is told as a change of anything, and the next stream goes to
the next server.
"""

import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import Any, Final

from attrs import define

from bookkeeper_tx.errors import MetadataUnavailable
from bookkeeper_tx.metadata.etcd.channel import ConnectionLost
from bookkeeper_tx.metadata.etcd.client import EtcdClient
from bookkeeper_tx.metadata.watches import Key
from protocol_specs.metadata import etcd_pb2 as messages

Range = tuple[str, str]
"""The first of the keys that are watched, and the end, which is not among them; "" if it is one key."""

WATCHES_AT_ONCE: Final = 1000
"""Watches that are asked for together, in the time of one operation."""

_END: Final = None
"""Stands in the queue of requests after the last of a stream."""

_END_OF_THREAD_S: Final = 5.0


@define
class _Stream:
    call: Any
    ended: Callable[[Exception | None], Exception]
    """Leaves the server, and returns why."""
    requests: "SimpleQueue[Any]"
    ids: dict[Key, int]
    """The watches, by what they are on."""
    keys: dict[int, Key]
    """The same the other way round."""
    pending: set[int]
    """Those that the server has not made yet."""
    error: Exception | None = None
    """Why it has ended."""


class EtcdWatches:
    """Calls ``tell(key)`` on a thread of its own when what ``key`` stands for has changed, ``tell(None)`` for all."""

    def __init__(self, client: EtcdClient, tell: Callable[[Key | None], None]) -> None:
        self._client = client
        self._tell = tell
        self._changed = threading.Condition()
        self._stream: _Stream | None = None
        self._thread: threading.Thread | None = None
        self._last_id = 0
        self._closed = False

    def watch(self, ranges: Mapping[Key, Range]) -> None:
        """Tell of the next change after this call in the range of each key; once, if it is watched already.

        All are asked for at once.  Waits until a server watches them; raises MetadataUnavailable if none does in time.
        """
        with self._client.limited():
            while True:
                try:
                    return self._watch_once(ranges)
                except ConnectionLost as error:
                    self._client.pause_after(error)

    def _watch_once(self, ranges: Mapping[Key, Range]) -> None:
        with self._changed:
            stream = self._opened()
            asked = {self._ask(stream, key, *keys) for key, keys in ranges.items()}
            while not asked.isdisjoint(stream.pending):
                if stream.error is not None:
                    raise stream.error
                if not self._changed.wait(self._client.channel.attempt_s(self._client.left_s())):
                    stream.call.cancel()  # the server does not answer, and the next stream goes to another

    def _ask(self, stream: _Stream, key: Key, first: str, end: str) -> int:
        """Ask for a watch, unless there is one; return its id."""
        watch_id = stream.ids.get(key)
        if watch_id is None:
            watch_id = self._last_id = self._last_id + 1
            stream.ids[key] = watch_id
            stream.keys[watch_id] = key
            stream.pending.add(watch_id)
            create = messages.WatchCreateRequest(key=first.encode(), range_end=end.encode(), watch_id=watch_id)
            stream.requests.put(messages.WatchRequest(create_request=create))
        return watch_id

    def unwatch(self, key: Key) -> None:
        """Tell no more of ``key``."""
        with self._changed:
            if self._stream is not None and key in self._stream.ids:
                watch_id = self._stream.ids.pop(key)
                del self._stream.keys[watch_id]
                self._stream.requests.put(_cancel(watch_id))

    def close(self) -> None:
        """End the stream and its thread."""
        with self._changed:
            self._closed = True
            thread = self._thread
            if self._stream is not None:
                self._stream.requests.put(_END)
                self._stream.call.cancel()
        if thread is not None:
            thread.join(_END_OF_THREAD_S)

    def _opened(self) -> _Stream:
        if self._closed:
            raise MetadataUnavailable("the metadata store was stopped")
        if self._stream is None:
            requests: SimpleQueue[Any] = SimpleQueue()
            self._stream = _Stream(*self._client.channel.watch(iter(requests.get, _END)), requests, {}, {}, set())
            self._thread = threading.Thread(target=self._read, args=(self._stream,), name="etcd-watches", daemon=True)
            self._thread.start()
        return self._stream

    def _read(self, stream: _Stream) -> None:
        error = None
        try:
            for answer in stream.call:
                self._take(stream, answer)
        except Exception as caught:
            error = caught
            if not hasattr(error, "code"):
                raise  # gRPC's say that the stream has ended: a broken connection, or a cancelled call
        finally:
            self._end(stream, stream.ended(error))

    def _end(self, stream: _Stream, error: Exception) -> None:
        with self._changed:
            self._stream, stream.error = None, error
            stream.requests.put(_END)  # or the thread that sends them would wait for ever
            self._changed.notify_all()
            # What no server has watched yet is waited for by who wants it watched.
            is_change = not self._closed and bool(stream.keys.keys() - stream.pending)
        if is_change:
            self._tell(None)

    def _take(self, stream: _Stream, answer: Any) -> None:
        with self._changed:
            if answer.created:
                stream.pending.discard(answer.watch_id)
                self._changed.notify_all()
            if not answer.events and not answer.canceled:
                return
            if answer.watch_id not in stream.keys:
                return  # told before, and its end is on the way
            key = stream.keys.pop(answer.watch_id)
            del stream.ids[key]
            if not answer.canceled:
                stream.requests.put(_cancel(answer.watch_id))
        self._tell(key)


def _cancel(watch_id: int) -> Any:
    return messages.WatchRequest(cancel_request=messages.WatchCancelRequest(watch_id=watch_id))
