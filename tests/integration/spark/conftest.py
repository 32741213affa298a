"""What every test of Spark has."""

from collections.abc import Iterator

import pytest

from compat_tests.targets.jvm import SMALL_JVM


@pytest.fixture(autouse=True, scope="module")
def small_jvms() -> Iterator[None]:
    """The JVMs of Spark are small ones, those of its processes, too: most of what tests ask for runs once, so the
    second compiler would cost more than it gives."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", " ".join(SMALL_JVM))
        yield
