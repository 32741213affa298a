from types import SimpleNamespace
from typing import Any

import pytest

from tests.releases_between import leave_out, release_of

OLDEST, BETWEEN, NEWER, NEWEST = RELEASES = "4.9.2", "4.14.7", "4.17.3", "4.18.0"


def _left(asked: list[tuple[str, int]], parts: int = 100) -> list[tuple[str, int]]:
    """What is left of tests that are given as releases and numbers; the number modulo ``parts`` is their part."""
    deselected: list[Any] = []
    hook = SimpleNamespace(pytest_deselected=lambda items: deselected.extend(items))
    config: Any = SimpleNamespace(hook=hook)
    items: list[Any] = list(asked)
    leave_out(config, items, [(each, each[0], each[1] % parts) for each in items])
    assert sorted(items + deselected) == sorted(asked)
    return items


def test_the_oldest_and_the_newest_are_asked_everything_and_those_between_a_third() -> None:
    left = _left([(release, number) for number in range(9) for release in RELEASES])
    by_release = {release: [number for each, number in left if each == release] for release in RELEASES}
    assert by_release[OLDEST] == by_release[NEWEST] == list(range(9))
    assert by_release[BETWEEN] == [0, 3, 6]
    assert by_release[NEWER] == [1, 4, 7]


def test_a_part_is_asked_as_a_whole() -> None:
    left = _left([(release, number) for number in range(9) for release in RELEASES], parts=3)
    assert [number for release, number in left if release == BETWEEN] == [0, 3, 6]


@pytest.mark.parametrize("releases", [RELEASES[:1], RELEASES[:2]])
def test_of_two_releases_none_is_between(releases: tuple[str, ...]) -> None:
    asked = [(release, number) for number in range(9) for release in releases]
    assert _left(asked) == asked


@pytest.mark.parametrize(("parameter", "release"), [(NEWEST, NEWEST), (object(), None)])
def test_a_test_for_none_of_the_releases_asked_has_none(
    request: pytest.FixtureRequest, parameter: object, release: str | None
) -> None:
    """Pytest gives it an object of its own as its parameter, and skips it."""
    item: Any = pytest.Function.from_parent(request.node.parent, name="test", callobj=lambda: None)
    item.callspec = SimpleNamespace(params={"java_release": parameter})
    assert release_of(item) == release
