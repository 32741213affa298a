"""What every test may use."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from compat_tests.targets.pytest_plugin import is_full
from tests.proto_compiler import installed_compiler
from tests.sampling import FULL, SAMPLED
from tests.scheduling import in_order, make_scheduler

# Nothing is asserted about time: a busy machine breaks no promise of ours.
settings.register_profile(FULL, deadline=None)
settings.register_profile(SAMPLED, deadline=None, max_examples=30)


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile(FULL if is_full(config) else SAMPLED)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = in_order(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return make_scheduler(config, log)


def result_of(deferred: Deferred[Any]) -> Any:
    """Return what ``deferred`` has fired with; raise its error; fail the test if it has not fired."""
    results: list[Any] = []
    deferred.addBoth(results.append)
    assert results, "the Deferred has not fired"
    if isinstance(results[0], Failure):
        results[0].raiseException()
    return results[0]


def failure_of(deferred: Deferred[Any], *errors: type[BaseException]) -> BaseException:
    """Return the error that ``deferred`` has failed with, which must be one of ``errors``."""
    with pytest.raises(errors or (Exception,)) as caught:
        result_of(deferred)
    return caught.value


@pytest.fixture(scope="session")
def kept_runs(request: pytest.FixtureRequest) -> Path | None:
    """Where ``--keep-runs`` says that runs of whole targets are kept."""
    kept = request.config.getoption("--keep-runs")
    return Path(kept).absolute() if kept else None


@pytest.fixture(scope="session")
def proto_compiler() -> Path:
    """Where the compiler of ``.proto`` files is."""
    return installed_compiler()


@pytest.fixture(name="result_of", scope="session")
def _result_of() -> Any:
    return result_of


@pytest.fixture(name="failure_of", scope="session")
def _failure_of() -> Any:
    return failure_of
