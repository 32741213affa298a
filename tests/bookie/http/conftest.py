"""The fixtures of the HTTP tests."""

from pathlib import Path

import pytest

from tests.bookie.http.asked import Asked


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    return Asked(tmp_path)
