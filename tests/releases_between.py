"""What a full run asks of the releases of Java between its oldest and its newest: one part in three.

What sets a release apart shows in the two at the ends, and in a run that asks fewer releases.
"""

from collections.abc import Hashable, Iterable
from typing import Any

import pytest

from compat_tests.targets.lockfile import release_number

ONE_IN = 3


def leave_out(
    config: pytest.Config, items: list[pytest.Item], asked: Iterable[tuple[pytest.Item, str, Hashable]]
) -> None:
    """Deselect what is left out of ``asked``: each item with its release, and the part of the release that it is of.

    Parts are told apart by what they are equal to; releases take different ones of them, in the order of ``asked``.
    """
    asked = list(asked)
    between = sorted({release for _, release, _ in asked}, key=release_number)[1:-1]
    numbers: dict[str, dict[Hashable, int]] = {release: {} for release in between}
    left_out: set[pytest.Item] = set()
    for item, release, part in asked:
        if release in between:
            number = numbers[release].setdefault(part, len(numbers[release]))
            if number % ONE_IN != between.index(release) % ONE_IN:
                left_out.add(item)
    if left_out:
        items[:] = [each for each in items if each not in left_out]
        config.hook.pytest_deselected(items=list(left_out))


def release_of(item: pytest.Item) -> str | None:
    """Return the release that a test runs on; None if it is for none, or for none of those that are asked."""
    release = parameters_of(item).get("java_release")
    return release if isinstance(release, str) else None  # pytest has an object of its own for no parameter


def parameters_of(item: pytest.Item) -> dict[str, Any]:
    return item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
