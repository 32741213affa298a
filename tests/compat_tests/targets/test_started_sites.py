"""Each site is started once."""

import threading

import pytest

from compat_tests.targets.process import StartFailed
from compat_tests.targets.sites import NotOffered, Site
from compat_tests.targets.started_sites import StartedSites


def test_a_site_is_started_once_whoever_asks() -> None:
    started: list[int] = []

    def start() -> Site:
        started.append(len(started) + 1)
        return Site("host", started[-1])

    sites = StartedSites({"plain": start, "tls": start})
    threads = [threading.Thread(target=sites.get, args=("plain",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert started == [1]
    assert sites.get("tls").port == 2
    assert sites.get("plain").port == 1


@pytest.mark.parametrize("failure", [NotOffered("not here"), StartFailed("it ended")])
def test_a_failure_is_kept(failure: Exception) -> None:
    tries: list[int] = []

    def start() -> Site:
        tries.append(1)
        raise failure

    sites = StartedSites({"plain": start})
    for _ in range(3):
        with pytest.raises(type(failure)):
            sites.get("plain")
    assert len(tries) == 1


def test_an_interrupt_is_no_answer() -> None:
    outcomes = iter([KeyboardInterrupt, None])

    def start() -> Site:
        outcome = next(outcomes)
        if outcome is not None:
            raise outcome
        return Site("host", 1)

    sites = StartedSites({"plain": start})
    with pytest.raises(KeyboardInterrupt):
        sites.get("plain")
    assert sites.get("plain").port == 1


def test_an_unknown_kind() -> None:
    with pytest.raises(NotOffered, match="'another'; there are plain"):
        StartedSites({"plain": lambda: Site("host", 1)}).get("another")
