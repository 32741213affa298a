"""The base of targets that start their own bookies: sites on demand, bookies of a case's own, and the end of all."""

from __future__ import annotations

import abc
import itertools
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import attrs

from compat_tests.targets.certificates import PASSWORD, SASL_SETTINGS, USER, Secrets
from compat_tests.targets.cluster import Cluster
from compat_tests.targets.lifetime import Lifetime
from compat_tests.targets.sites import AUTH, READ_ONLY, SHARED_KINDS, TLS, TLS_AUTH, Instance, OwnBookie, Site
from compat_tests.targets.started_sites import StartedSites

Self = TypeVar("Self", bound="StartedTarget")

_roots = itertools.count(1)


@attrs.frozen
class Recipe:
    """How the bookie of a site differs from the one of the plain site."""

    settings: Mapping[str, object] = attrs.field(factory=dict)
    """Keys of ``bk_server.conf``."""
    jaas: Mapping[str, object] = attrs.field(factory=dict)
    """A system property for Java, a key of its configuration for ours."""
    read_only: bool = False
    files: Path | None = None
    """The folder of the files that the settings name."""


class StartedTarget(abc.ABC):
    """Starts each site when it is first asked for; stops and removes all at the end."""

    def __init__(self) -> None:
        self.lifetime = Lifetime()
        self._sites = StartedSites({kind: partial(self._start_site, kind) for kind in SHARED_KINDS})
        self._secrets: Secrets | None = None
        self._secrets_lock = threading.Lock()

    @property
    @abc.abstractmethod
    def cluster(self) -> Cluster | None:
        """Where the shared sites are registered; ``None`` if it cannot be looked into."""

    @abc.abstractmethod
    def new_cluster(self) -> Cluster | None:
        """An empty one for a bookie of one's own."""

    @abc.abstractmethod
    def make_bookie(self, cluster: Cluster | None, folder: Path, recipe: Recipe) -> Instance:
        """A bookie that has not been started; may raise :class:`NotOffered` where the recipe asks too much."""

    def discard(self, instance: Instance) -> None:
        """End a bookie whose directories nobody needs any more."""
        instance.kill()

    def site(self, kind: str) -> Site:
        """The site of that kind, see :class:`compat_tests.targets.target.Target`."""
        return self._sites.get(kind)

    @contextmanager
    def own(self) -> Iterator[OwnBookie]:
        """A running bookie with directories and a cluster of its own, gone afterwards."""
        cluster, folder = self.new_cluster(), self.lifetime.directory("own")
        instance = self.make_bookie(cluster, folder, Recipe())
        try:
            host, port = self.lifetime.launch(instance, instance.start)
            yield OwnBookie(host, port, cluster=cluster, bookie_id=f"{host}:{port}", instance=instance)
        finally:
            self.discard(instance)
            self.lifetime.forget(instance)
            shutil.rmtree(folder, ignore_errors=True)  # the end removes what is left

    def _start_site(self, kind: str) -> Site:
        recipe = self._recipe(kind)
        instance = self.make_bookie(self.cluster, self.lifetime.directory(kind), recipe)
        host, port = self.lifetime.launch(instance, instance.start)
        site = Site(host, port, cluster=self.cluster, bookie_id=f"{host}:{port}")
        if kind in (TLS, TLS_AUTH):
            site.tls = self._make_secrets().client_files
        if kind in (AUTH, TLS_AUTH):
            site.credentials = (USER, PASSWORD)
        return site

    def _recipe(self, kind: str) -> Recipe:
        settings: dict[str, object] = {}
        jaas: Mapping[str, object] = {}
        if kind == READ_ONLY:
            settings["forceReadOnlyBookie"] = "true"
        if kind in (TLS, TLS_AUTH):
            settings |= self._make_secrets().tls_settings
        if kind in (AUTH, TLS_AUTH):
            settings |= SASL_SETTINGS
            jaas = self._make_secrets().jaas
        files = self._secrets.directory if self._secrets else None
        return Recipe(settings, jaas, kind == READ_ONLY, files)

    def _make_secrets(self) -> Secrets:
        with self._secrets_lock:
            if self._secrets is None:
                self._secrets = Secrets.make(self.lifetime.directory("secrets"))
            return self._secrets

    def __enter__(self: Self) -> Self:
        self.lifetime.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.lifetime.__exit__(kind, error, where)
