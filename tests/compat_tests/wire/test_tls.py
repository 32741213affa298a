"""Contexts of clients, and certificates that no authority has signed."""

import ssl
from pathlib import Path

import pytest

from compat_tests.targets.sites import TlsFiles
from compat_tests.wire.tls import bookie_context, client_context, stranger


def test_a_stranger_has_a_certificate_and_its_key_while_he_is_needed() -> None:
    with stranger() as (certificate, key):
        context = client_context(TlsFiles(certificate), shown=(certificate, key))
        assert context.cert_store_stats()["x509"] == 1
    assert not certificate.exists()
    assert not key.exists()


def test_a_client_wants_the_authority_of_the_site_and_no_host() -> None:
    with stranger() as (certificate, _):
        context = client_context(TlsFiles(certificate))
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert not context.check_hostname


def test_one_version_can_be_asked_for() -> None:
    with stranger() as (certificate, _):
        context = client_context(TlsFiles(certificate), version=ssl.TLSVersion.TLSv1_2)
    assert context.minimum_version == context.maximum_version == ssl.TLSVersion.TLSv1_2


def test_an_authority_that_is_not_there_is_named_by_the_error() -> None:
    with pytest.raises(FileNotFoundError):
        client_context(TlsFiles(Path("/nowhere/authority.pem")))


def test_a_bookie_asks_for_no_certificate_unless_it_is_to() -> None:
    with stranger() as (certificate, key):
        assert bookie_context(certificate, key).verify_mode is ssl.CERT_NONE
        asking = bookie_context(certificate, key, clients_of=certificate, version=ssl.TLSVersion.TLSv1_3)
    assert asking.verify_mode is ssl.CERT_OPTIONAL
    assert asking.minimum_version == asking.maximum_version == ssl.TLSVersion.TLSv1_3
