"""A login that is looked up where a connection is made."""

from pathlib import Path

import pytest

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.security.login_if_there import LoginIfThere
from bookkeeper_tx.security.sasl import SaslLogin

LOGIN = 'Client { m required username="bk" password="secret"; };'


def test_the_section_counts_if_the_file_has_it(tmp_path: Path) -> None:
    file = tmp_path / "jaas.conf"
    perhaps = LoginIfThere(str(file), "Client")
    with pytest.raises(InvalidConfig, match="cannot be read"):
        perhaps.found()
    file.write_text(LOGIN.replace("Client", "BookKeeper"))
    assert perhaps.found() is None
    file.write_text(LOGIN)
    assert perhaps.found() == SaslLogin(str(file), "Client")
    assert "secret" not in repr(perhaps)
