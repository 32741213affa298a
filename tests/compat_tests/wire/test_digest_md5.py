"""The suite's own DIGEST-MD5 against the example that RFC 2831 has."""

import pytest

from compat_tests.wire import digest_md5

CHALLENGE = b'realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",qop="auth",algorithm=md5-sess,charset=utf-8'


def test_the_example_of_the_rfc() -> None:
    challenge = digest_md5.parse(CHALLENGE)
    token, rspauth = digest_md5.response(
        challenge, "chris", "secret", "OA6MHXh6VqTrRk", digest_uri="imap/elwood.innosoft.com"
    )
    assert digest_md5.parse(token)["response"] == "d388dad90d4bbd760a152321f2143af7"
    assert rspauth == "ea40f60335c427b5527b84dbabcdfffd"


def test_what_is_changed_is_said() -> None:
    token, _ = digest_md5.response(digest_md5.parse(CHALLENGE), "chris", "secret", "c", nc="00000002")
    said = digest_md5.parse(token)
    assert (said["nc"], said["digest-uri"], said["username"]) == ("00000002", "bookkeeper/bookkeeper", "chris")


def test_quotes_in_values_are_read() -> None:
    assert digest_md5.parse(rb'realm="a \"b\"", qop=auth') == {"realm": 'a "b"', "qop": "auth"}


def test_what_is_no_token_is_refused() -> None:
    with pytest.raises(ValueError, match="no directive"):
        digest_md5.parse(b"hello")
