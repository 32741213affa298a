"""The certificates of a run trust each other, and the settings name files that are there."""

import ssl
from pathlib import Path

from compat_tests.targets.certificates import PASSWORD, USER, Secrets


def test_each_side_trusts_the_other(tmp_path: Path) -> None:
    secrets = Secrets.make(tmp_path)
    files, settings = secrets.client_files, secrets.tls_settings
    client = ssl.create_default_context(cafile=files.ca)
    assert files.certificate is not None
    client.load_cert_chain(files.certificate, files.key)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=settings["tlsTrustStore"])  # type: ignore[arg-type]
    server.load_cert_chain(settings["tlsCertificatePath"], settings["tlsKeyStore"])  # type: ignore[arg-type]
    server.verify_mode = ssl.CERT_REQUIRED
    for side in (client, server):
        side.verify_flags |= ssl.VERIFY_X509_STRICT  # as create_default_context has it from Python 3.13
    shake_hands(client, server)


def test_the_login_is_where_the_settings_say(tmp_path: Path) -> None:
    (path,) = Secrets.make(tmp_path).jaas.values()
    assert isinstance(path, Path)
    assert f'user_{USER}="{PASSWORD}"' in path.read_text()


def shake_hands(client: ssl.SSLContext, server: ssl.SSLContext) -> None:
    """In memory; raises SSLError if one side does not trust the other."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname="127.0.0.1"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    while sides:
        for side in list(sides):
            try:
                side.do_handshake()
                sides.remove(side)
            except ssl.SSLWantReadError:
                continue
