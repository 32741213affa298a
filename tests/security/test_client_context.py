"""The files of a client's TLS."""

import re
from pathlib import Path

import pytest
from attrs import evolve

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.security.client_context import client_context
from bookkeeper_tx.security.tls_config import TlsConfig
from tests.certificates import Authority


def test_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    directory, authority = tmp_path, Authority(tmp_path)
    trusting = TlsConfig(trust_path=str(authority.path))
    junk, missing = directory / "junk.pem", directory / "missing"
    junk.write_text("junk")
    own, locked, another = authority.issue("own"), authority.issue("locked", encrypted=True), authority.issue("another")
    showing = evolve(
        trusting,
        certificate_path=str(own.certificate_path),
        key_path=str(own.key_path),
        client_authentication=True,
    )
    client_context(showing)
    client_context(
        evolve(
            showing,
            certificate_path=str(locked.certificate_path),
            key_path=str(locked.key_path),
            key_password_path=str(locked.password_path),
        )
    )
    of_locked = {"certificate_path": locked.certificate_path, "key_path": locked.key_path}
    for fault, changed in (
        (junk, {"trust_path": junk}),
        (missing, {"trust_path": missing}),
        (directory, {"trust_path": directory}),
        (missing, {"certificate_path": missing}),
        (junk, {"certificate_path": junk}),
        (junk, {"key_path": junk}),
        (locked.key_path, of_locked),
        (locked.key_path, {**of_locked, "key_password_path": junk}),
        (missing, {**of_locked, "key_password_path": missing}),
        (another.key_path, {"key_path": another.key_path}),
    ):
        with pytest.raises(InvalidConfig, match=re.escape(str(fault))) as caught:
            client_context(evolve(showing, **{key: str(value) for key, value in changed.items()}))
        assert "junk" not in str(caught.value).replace(str(junk), ""), "nothing that is in a file"
    with pytest.raises(InvalidConfig, match="clientTrustStore"):
        client_context(TlsConfig(certificate_path="c", key_path="k"))
