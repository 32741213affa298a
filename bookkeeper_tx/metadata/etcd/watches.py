"""Watches on keys of etcd, each of which tells of one change: whoever is told reads again, and watches again.

They share one stream to the server, and one thread that reads it.  The stream begins with the first watch, and ends
when its connection does; then all watches are gone, which is told as a change of anything.
"""

import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import Any, Final

from attrs import frozen

from bookkeeper_tx.errors import MetadataUnavailable
from bookkeeper_tx.metadata.etcd.channel import WatchStream
from bookkeeper_tx.metadata.etcd.client import EtcdClient
from bookkeeper_tx.metadata.watches import Key
from protocol_specs.metadata import etcd_layout as spec
from protocol_specs.metadata import etcd_pb2 as messages

_END: Final = None
"""Stands in the queue of requests after the last of a stream."""

_END_OF_THREAD_S: Final = 5.0


@frozen
class _Stream:
    call: WatchStream
    requests: "SimpleQueue[Any]"
    ids: dict[Key, int]
    """The watches, by what they are on."""
    keys: dict[int, Key]
    """The same the other way round."""
    pending: set[int]
    """Those that the server has not made yet."""


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

    def watch(self, names: Mapping[Key, str]) -> None:
        """Tell of the next change of each of these keys after this call, once; all must be called by one thread.

        ``names`` are what the keys have in etcd, where a slash at the end stands for all that is below.  Waits until
        the server watches all of them; raises MetadataUnavailable if it is silent for longer than this thread has time.
        """
        with self._changed:
            patience_s = self._client.left_s()
            stream = self._opened()
            for key, name in names.items():
                if key not in stream.ids:
                    self._ask(stream, key, name)
            while stream.pending:
                if self._stream is not stream:
                    raise MetadataUnavailable(f"the connection to etcd at {self._client.hosts} was lost")
                count = len(stream.pending)
                if not self._changed.wait(patience_s) and len(stream.pending) == count:
                    stream.call.cancel()
                    raise self._client.too_late()

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

    def _ask(self, stream: _Stream, key: Key, name: str) -> None:
        watch_id = self._last_id = self._last_id + 1
        stream.ids[key] = watch_id
        stream.keys[watch_id] = key
        stream.pending.add(watch_id)
        end = name.removesuffix("/") + spec.END if name.endswith("/") else ""
        create = messages.WatchCreateRequest(key=name.encode(), range_end=end.encode(), watch_id=watch_id)
        stream.requests.put(messages.WatchRequest(create_request=create))

    def _opened(self) -> _Stream:
        if self._closed:
            raise MetadataUnavailable("the metadata store was stopped")
        if self._stream is None:
            requests: SimpleQueue[Any] = SimpleQueue()
            self._stream = _Stream(self._client.channel.watch(iter(requests.get, _END)), requests, {}, {}, set())
            self._thread = threading.Thread(target=self._read, args=(self._stream,), name="etcd-watches", daemon=True)
            self._thread.start()
        return self._stream

    def _read(self, stream: _Stream) -> None:
        try:
            for answer in stream.call.answers:
                self._take(stream, answer)
        except Exception as error:
            if not hasattr(error, "code"):
                raise  # gRPC's say that the stream has ended: a broken connection, or a cancelled call
        finally:
            self._end(stream)

    def _end(self, stream: _Stream) -> None:
        with self._changed:
            if not self._closed:
                stream.call.leave()
            self._stream = None
            stream.requests.put(_END)  # or the thread that sends them would wait for ever
            self._changed.notify_all()
            # Who waits for a watch that was not made knows of it, and has missed nothing.
            is_missed = not self._closed and not stream.keys.keys() <= stream.pending
        if is_missed:
            self._tell(None)

    def _take(self, stream: _Stream, answer: Any) -> None:
        with self._changed:
            if answer.created:
                stream.pending.discard(answer.watch_id)
                if not stream.pending:
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
