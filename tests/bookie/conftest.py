import pytest

from tests.bookie.crashing_disk import CrashingDisk, new_disk


@pytest.fixture
def disk() -> CrashingDisk:
    return new_disk()
