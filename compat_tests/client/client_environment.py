"""The client role: a ZooKeeper, driver processes, and the stage that each case gets."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kazoo.exceptions import ConnectionLoss, KazooException, NoNodeError, SessionExpiredError

from compat_tests.client.client_target import ClientTarget
from compat_tests.client.listen_address import ListenAddress
from compat_tests.client.metadata_root import MetadataRoot
from compat_tests.client.performer import Performer
from compat_tests.client.stage import Stage
from compat_tests.judge.attempt import Brief
from compat_tests.judge.case import Dialect, Role
from compat_tests.judge.result import TargetInfo
from compat_tests.judge.verdict import Interrupted
from compat_tests.targets import guardian
from compat_tests.targets.cluster import new_session, parse_uri
from compat_tests.targets.java.driver_process import JavaError
from compat_tests.targets.lifetime import CleanupFailed, Lifetime
from compat_tests.targets.unavailable import Unavailable
from compat_tests.targets.zookeeper import ZooKeeper

PROCESSES = 2
"""Driver processes; each has several clients at a time."""

_CONNECT_S = 20.0
_PROBE_S = 20.0
"""For a JVM on a busy machine to start and connect."""


class ClientEnvironment:
    """The environment of a client that is judged; a context manager.

    ``metadata`` is the URI of the ZooKeeper to use.  Only its hosts count: the cases have roots of their own, under one
    node that is removed at the end.  Without it a ZooKeeper is started.  Raises ValueError for a malformed URI.
    """

    role = Role.CLIENT
    base = "BKW-CBASE-001"

    def __init__(
        self,
        target: ClientTarget,
        metadata: str | None = None,
        listen: ListenAddress | None = None,
        processes: int = PROCESSES,
    ) -> None:
        self.target = target
        self._listen_address = listen
        self._metadata = None if metadata is None else parse_uri(metadata)
        self._ended = contextlib.ExitStack()
        self._folder: Path
        self._hosts = ""
        self._session: Any = None
        self._top = f"/bookkeeper-conformance-{uuid.uuid4().hex[:12]}"
        self._roots = itertools.count(1)
        self._turns = itertools.count()
        self._process_count = processes
        self._performers: list[Performer] = []

    @property
    def info(self) -> TargetInfo:
        return self.target.info

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._ended.close()

    def probe(self, seed: int, stop: threading.Event) -> Mapping[str, str]:
        """Start everything; find out the protocol versions that the client speaks.  Raises Unavailable."""
        self._begin()
        found = {}
        for dialect in Dialect:
            if stop.is_set():
                raise Interrupted
            found[dialect.lower()] = self._speaks(dialect)
        return found

    @contextmanager
    def attempt(self, brief: Brief) -> Iterator[Stage]:
        """A stage on a root of its own."""
        performer = self._performers[next(self._turns) % len(self._performers)]
        try:
            with Stage(brief, self._new_root(), performer, self._listen_address) as stage:
                yield stage
        except (ConnectionLoss, SessionExpiredError) as error:  # a closed session is an expired one
            raise Unavailable(f"ZooKeeper at {self._hosts} has gone: {type(error).__name__}") from error

    def _begin(self) -> None:
        self._folder = Path(self._ended.enter_context(tempfile.TemporaryDirectory(prefix="bookkeeper-conformance-")))
        guardian.watch_directory(self._folder)
        runner = self.target.make_runner(self._ended.enter_context(contextlib.closing(Lifetime())))
        if self._metadata is None:
            zookeeper = ZooKeeper(self._folder / "zookeeper", runner=runner)
            self._hosts = self._ended.enter_context(zookeeper).hosts
        else:
            self._hosts = self._metadata.zookeeper
        self._session = new_session(self._hosts)
        try:
            self._session.start(timeout=_CONNECT_S)
        except (KazooException, self._session.handler.timeout_exception) as error:
            raise Unavailable(f"no ZooKeeper at {self._hosts}: {error}") from error
        self._ended.callback(self._leave)
        self._session.create(self._top)
        for number in range(1, self._process_count + 1):
            folder = self._folder / f"client-{number}"
            folder.mkdir()
            performer = Performer(f"client process {number}", self.target.command(folder, runner), folder)
            self._performers.append(performer)
            self._ended.callback(performer.end)

    def _leave(self) -> None:
        """Remove the nodes of the cases.  Raises CleanupFailed, but not for a ZooKeeper that ends here anyway."""
        try:
            with contextlib.suppress(NoNodeError):
                self._session.delete(self._top, recursive=True)
        except KazooException as error:
            if self._metadata is not None:
                reason = f"{type(error).__name__} {error}".strip()
                raise CleanupFailed(f"{self._top} in the ZooKeeper at {self._hosts}: {reason}") from error
        finally:
            self._session.stop()
            self._session.close()

    def _new_root(self) -> MetadataRoot:
        root = MetadataRoot(self._session, self._hosts, f"{self._top}/{next(self._roots)}")
        root.make()
        return root

    def _speaks(self, dialect: Dialect) -> str:
        values = {"uri": self._new_root().uri, "v2": dialect is Dialect.V2}
        clients = [(performer, {"client": performer.new_name()}) for performer in self._performers]
        try:
            # In every process: the first client of a JVM takes seconds, which a case does not have.
            for each in [performer.submit("connect", {**name, **values}) for performer, name in clients]:
                each.result(_PROBE_S)
            for performer, name in clients:
                performer.submit("disconnect", name)
        except JavaError as error:
            if error.name == "Unsupported":
                return f"no: {error.message}"
        except Exception:  # BKW-CBASE-001 says what is wrong
            return "yes"
        return "yes"
