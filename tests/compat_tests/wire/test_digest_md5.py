"""The suite's own DIGEST-MD5 against the example of RFC 2831."""

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
    directives = digest_md5.parse(token)
    assert (directives["nc"], directives["digest-uri"], directives["username"]) == (
        "00000002",
        "bookkeeper/bookkeeper",
        "chris",
    )


def test_quotes_in_values_are_read() -> None:
    assert digest_md5.parse(rb'realm="a \"b\"", qop=auth') == {"realm": 'a "b"', "qop": "auth"}


def test_what_is_no_token_is_refused() -> None:
    with pytest.raises(ValueError, match="no directive"):
        digest_md5.parse(b"hello")


def test_a_bookie_knows_the_proofs_of_the_example_of_the_rfc() -> None:
    challenge = digest_md5.parse(CHALLENGE)
    token, rspauth = digest_md5.response(
        challenge, "chris", "secret", "OA6MHXh6VqTrRk", digest_uri="imap/elwood.innosoft.com"
    )
    directives = digest_md5.parse(token)
    assert digest_md5.proofs(directives, "secret") == (directives["response"], rspauth)
    assert digest_md5.proofs(directives, "other")[0] != directives["response"]


def test_whom_a_client_acts_for_is_proven_too() -> None:
    # As the client of Java 4.18.0 with OpenJDK 17 answered this nonce.
    directives = {
        "username": "bookkeeper-reader",
        "realm": "bookkeeper",
        "nonce": "22ef83503c53329239f51d4b440ab00e",
        "nc": "00000001",
        "cnonce": "HasX5JrShWKQLpNnP/TjbtG6lWzR62g5QPgeHmts",
        "digest-uri": "bookkeeper/bookkeeper",
        "qop": "auth",
        "authzid": "bookkeeper-reader",
    }
    assert digest_md5.proofs(directives, "secret")[0] == "2a83b1ce3dd3f2f1d77aee6a5bb58d6f"
    del directives["authzid"]
    assert digest_md5.proofs(directives, "secret")[0] != "2a83b1ce3dd3f2f1d77aee6a5bb58d6f"


def test_a_challenge_can_be_answered() -> None:
    directives = digest_md5.parse(digest_md5.challenge("some-nonce"))
    assert (directives["nonce"], directives["realm"], directives["algorithm"]) == (
        "some-nonce",
        "bookkeeper",
        "md5-sess",
    )


def test_a_response_that_lacks_something_is_named() -> None:
    with pytest.raises(ValueError, match="nonce"):
        digest_md5.proofs({"username": "chris"}, "secret")
