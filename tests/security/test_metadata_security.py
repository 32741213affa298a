"""How programs come to a secured ZooKeeper: the login that is settled where a store is opened."""

from pathlib import Path

import pytest

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.security.login_if_there import LoginIfThere
from bookkeeper_tx.security.metadata_security import MetadataSecurity
from bookkeeper_tx.security.sasl import SaslClient, SaslLogin


def test_a_login_that_may_be_there_is_settled_by_its_file(tmp_path: Path) -> None:
    file = tmp_path / "jaas.conf"
    file.write_text('Client { m required username="bk" password="secret"; };')
    perhaps = MetadataSecurity(login=LoginIfThere(str(file), "Client"), creator_only=True)
    assert perhaps.settled() == MetadataSecurity(login=SaslLogin(str(file), "Client"), creator_only=True)
    without = LoginIfThere(str(file), "Other")
    assert MetadataSecurity(login=without).settled() == MetadataSecurity()
    with pytest.raises(InvalidConfig, match=rf"ZooKeeper must know who .*; {file} has no section Other"):
        MetadataSecurity(login=without, creator_only=True).settled()


def test_every_other_login_stays() -> None:
    for login in (None, SaslClient("bk", "secret"), SaslLogin("/jaas", "Client")):
        security = MetadataSecurity(login=login)
        assert security.settled() is security
