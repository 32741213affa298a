"""Which cases a full run asks of the releases of Java between its oldest and its newest: one in three.

What sets a release apart shows in the two at the ends, and in a run that asks fewer releases, or is kept.
"""

import pytest

from compat_tests.judge.case import Case
from compat_tests.targets.lockfile import release_number

ONE_IN = 3


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    asked = [(each, *found) for each in items if (found := _case_and_release(each))]
    releases = sorted({release for _, _, release in asked}, key=release_number)
    between = releases[1:-1]
    if not between or config.getoption("--keep-runs"):
        return
    cases: dict[str, list[str]] = {}
    left_out: list[pytest.Item] = []
    for item, case, release in asked:
        if release in between:
            of_release = cases.setdefault(release, [])
            of_release.append(case.id)
            # Releases take different ones of them.
            if len(of_release) % ONE_IN != between.index(release) % ONE_IN:
                left_out.append(item)
    leave = set(left_out)
    items[:] = [each for each in items if each not in leave]
    config.hook.pytest_deselected(items=left_out)


def _case_and_release(item: pytest.Item) -> tuple[Case, str] | None:
    parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    case, release = parameters.get("case"), parameters.get("java_release")
    return (case, release) if isinstance(case, Case) and isinstance(release, str) else None
