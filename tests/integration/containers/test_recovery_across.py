"""What a writer of one kind left open, recovered by a client of the other: Java's bookie and client in containers."""

import pytest

from tests.integration.java.test_recovery_across import mixed as mixed
from tests.integration.java.test_recovery_across import (
    test_java_takes_over_from_our_writer as test_java_takes_over_from_our_writer,
)
from tests.integration.java.test_recovery_across import (
    test_ours_takes_over_from_a_java_writer as test_ours_takes_over_from_a_java_writer,
)

pytestmark = [pytest.mark.java, pytest.mark.docker, pytest.mark.full]
