"""Which cases a full run asks of the releases of Java between its oldest and its newest: one in three.

What sets a release apart shows in the two at the ends, and in a run that asks fewer releases, or is kept.
"""

from collections import Counter

import pytest

from compat_tests.judge.case import Case
from compat_tests.targets.lockfile import release_number

ONE_IN = 3


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    asked = [(each, release) for each in items if (release := _release_of_a_case(each))]
    releases = sorted({release for _, release in asked}, key=release_number)
    between = releases[1:-1]
    if not between or config.getoption("--keep-runs"):
        return
    counts: Counter[str] = Counter()
    left_out: list[pytest.Item] = []
    for item, release in asked:
        if release in between:
            counts[release] += 1
            # Releases take different ones of them.
            if counts[release] % ONE_IN != between.index(release) % ONE_IN:
                left_out.append(item)
    leave = set(left_out)
    items[:] = [each for each in items if each not in leave]
    config.hook.pytest_deselected(items=left_out)


def _release_of_a_case(item: pytest.Item) -> str | None:
    parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return parameters.get("java_release") if isinstance(parameters.get("case"), Case) else None
