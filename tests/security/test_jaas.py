"""Java's login configuration: users of a bookie, credentials of a client, and errors."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.security import jaas

TEXT = r"""
// who may come
Bookie {
  org.apache.zookeeper.server.auth.DigestLoginModule required
    user_bookkeeper-a="p;w}\"\\"   /* the first
                                      of two */
    user_b=plain;
};
# a client
BookKeeper { x.DigestLoginModule required username="bookkeeper-a" password="p w"; };
Kerberos { com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true; };
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "jaas.conf"
    file.write_text(TEXT)
    return str(file)


def test_users_of_a_bookie(path: str) -> None:
    assert jaas.users(path, "Bookie") == {"bookkeeper-a": 'p;w}"\\', "b": "plain"}


def test_credentials_of_a_client(path: str) -> None:
    assert jaas.credentials(path, "BookKeeper") == ("bookkeeper-a", "p w")


@pytest.mark.parametrize(
    ("call", "section", "said"),
    [
        (jaas.users, "Nobody", "there is no section Nobody, only BookKeeper, Bookie, Kerberos"),
        (jaas.users, "Kerberos", "names no user"),
        (jaas.credentials, "Kerberos", "Kerberos is not supported"),
    ],
)
def test_what_is_missing(path: str, call: Any, section: str, said: str) -> None:
    with pytest.raises(InvalidConfig, match=said):
        call(path, section)


@pytest.mark.parametrize("text", ["Bookie {", "Bookie", "{ }", 'Bookie { m required user_a="b; };', "Bookie = {};"])
def test_what_is_no_login_configuration(tmp_path: Path, text: str) -> None:
    file = tmp_path / "jaas.conf"
    file.write_text(text)
    with pytest.raises(InvalidConfig, match=str(file)):
        jaas.users(str(file), "Bookie")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="cannot be read"):
        jaas.users(str(tmp_path / "none"), "Bookie")


@given(text=st.text(alphabet='ab {}=;"\\/*#\n', max_size=40))
def test_junk_is_refused_and_nothing_else_is_raised(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.getbasetemp() / "junk.conf"
    file.write_text(text)
    with pytest.raises(InvalidConfig):
        jaas.users(str(file), "Bookie")
