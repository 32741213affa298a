"""TLS on a recorded line: from then on the recording has the bytes inside."""

import datetime
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from compat_tests.targets import guardian
from compat_tests.targets.sites import TlsFiles
from compat_tests.targets.unavailable import Unavailable
from compat_tests.wire.line import Line


def client_context(
    files: TlsFiles,
    *,
    show_certificate: bool = True,
    version: ssl.TLSVersion | None = None,
    shown: tuple[Path, Path] | None = None,
) -> ssl.SSLContext:
    """A client that wants the bookie's certificate to be from the site's authority, whatever its host.

    :param show_certificate: whether the client has one of its own to show
    :param version: the only one that is spoken
    :param shown: another certificate and key than the site's
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(files.ca)
    if shown is not None:
        context.load_cert_chain(*shown)
    elif show_certificate and files.certificate is not None:
        context.load_cert_chain(files.certificate, files.key)
    if version is not None:
        context.minimum_version = context.maximum_version = version
    return context


def bookie_context(
    certificate: Path, key: Path, *, clients_of: Path | None = None, version: ssl.TLSVersion | None = None
) -> ssl.SSLContext:
    """A bookie's side.

    :param clients_of: the authority of clients whose certificate is asked for; a client may have none to show
    :param version: the only one that is spoken
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if clients_of is not None:
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(clients_of)
    if version is not None:
        context.minimum_version = context.maximum_version = version
    return context


def shake_hands(line: Line, context: ssl.SSLContext) -> str | None:
    """Do the handshake; give why it failed, or None.

    With TLS 1.3 a client's certificate is refused after the handshake: then the next call to receive gives the end.
    """
    line.socket.settimeout(line.left_s())
    try:
        line.socket = context.wrap_socket(line.socket)
    except OSError as error:  # ssl.SSLError is one
        why = str(error) or type(error).__name__
        line.recording.note(line.name, f"no TLS: {why}")
        return why
    version, cipher = line.socket.version(), (line.socket.cipher() or ("",))[0]
    line.recording.note(line.name, f"TLS is up ({version}, {cipher}): from here on the bytes inside are shown")
    return None


@contextmanager
def stranger() -> Iterator[tuple[Path, Path]]:
    """A certificate and key that no authority has signed, in files.  Raises Unavailable where none can be made."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError:
        raise Unavailable("no certificate can be made: the cryptography package is not installed") from None
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "stranger")])
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - day).not_valid_after(now + day)
    certificate = builder.sign(key, hashes.SHA256())
    pem, form, plain = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    with tempfile.TemporaryDirectory(prefix="bookkeeper-conformance-") as folder:
        guardian.watch_directory(Path(folder))
        paths = Path(folder, "stranger.pem"), Path(folder, "stranger.key")
        paths[0].write_bytes(certificate.public_bytes(pem))
        paths[1].write_bytes(key.private_bytes(pem, form, plain))
        yield paths
