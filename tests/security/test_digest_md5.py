"""DIGEST-MD5: the RFC's worked example, both sides against each other, and the tokens that must be refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.errors import AuthenticationFailed
from bookkeeper_tx.security import digest_md5
from bookkeeper_tx.security.digest_md5 import DigestClient, DigestServer

USERS = {"bookkeeper-reader": "secret", "bookkeeper-ünï": 'p"ä\\ss', "bookkeeper-日本": "語"}
EXAMPLE = {"realm": "elwood.innosoft.com", "nonce": "OA6MG9tEQGm2hh", "cnonce": "OA6MHXh6VqTrRk", "nc": "00000001"}


def server() -> DigestServer:
    return DigestServer(USERS.get, "bookkeeper", "bookkeeper", "bookkeeper", lambda size: b"s" * size)


def client(user: str, password: str, host: str = "bookkeeper") -> DigestClient:
    return DigestClient(user, password, "bookkeeper", host, lambda size: b"c" * size)


def test_the_example_of_the_rfc() -> None:
    """RFC 2831, section 4."""
    values = {**EXAMPLE, "qop": "auth"}
    proof = digest_md5.response_value(values, "chris", "secret", "imap/elwood.innosoft.com")
    assert proof == "d388dad90d4bbd760a152321f2143af7"
    proof = digest_md5.response_value(values, "chris", "secret", "imap/elwood.innosoft.com", from_server=True)
    assert proof == "ea40f60335c427b5527b84dbabcdfffd"


def test_a_client_answers_the_challenge_of_the_rfc() -> None:
    challenge = b'realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",qop="auth",algorithm=md5-sess,charset=utf-8'
    chris = DigestClient("chris", "secret", "imap", "elwood.innosoft.com", lambda _: bytes.fromhex("0a0b"))
    given_values = digest_md5.parse(chris.respond(challenge))
    expected = digest_md5.response_value(given_values, "chris", "secret", "imap/elwood.innosoft.com")
    assert (given_values["username"], given_values["response"], given_values["cnonce"]) == ("chris", expected, "0a0b")


@pytest.mark.parametrize("user", USERS)
def test_both_sides_prove_the_password(user: str) -> None:
    bookie, reader = server(), client(user, USERS[user])
    proof = bookie.check(reader.respond(bookie.challenge()))
    assert bookie.username == user
    reader.check(proof)


@pytest.mark.parametrize(
    ("user", "password", "host"),
    [
        ("bookkeeper-reader", "wrong", "bookkeeper"),
        ("nobody", "secret", "bookkeeper"),
        ("nobody", "", "bookkeeper"),
        ("bookkeeper-reader", "secret", "elsewhere"),
    ],
)
def test_who_cannot_is_refused(user: str, password: str, host: str) -> None:
    bookie = server()
    with pytest.raises(AuthenticationFailed):
        bookie.check(client(user, password, host).respond(bookie.challenge()))
    assert bookie.username == ""


@pytest.mark.parametrize("name", ["nonce", "cnonce", "realm", "nc", "digest-uri", "response", "username", "qop"])
def test_a_response_with_another_value_is_refused(name: str) -> None:
    bookie = server()
    values = digest_md5.parse(client("bookkeeper-reader", "secret").respond(bookie.challenge()))
    values[name] = "00000002" if name == "nc" else values[name] + "x"
    with pytest.raises(AuthenticationFailed):
        bookie.check(",".join(f'{key}="{value}"' for key, value in values.items()).encode())


def test_a_response_is_of_no_use_on_another_connection() -> None:
    first = server()
    response = client("bookkeeper-reader", "secret").respond(first.challenge())
    second = DigestServer(
        {"bookkeeper-reader": "secret"}.get, "bookkeeper", "bookkeeper", "bookkeeper", lambda _: b"other"
    )
    with pytest.raises(AuthenticationFailed, match="nonce"):
        second.check(response)
    assert first.check(response)


@pytest.mark.parametrize("name", ["username", "realm", "authzid"])
def test_no_line_of_a_log_can_be_made_up(name: str) -> None:
    bookie = server()
    values = digest_md5.parse(client("bookkeeper-reader", "secret").respond(bookie.challenge()))
    values[name] = "x\n\x1b[2Jall is well"
    with pytest.raises(AuthenticationFailed) as refused:
        bookie.check(",".join(f"{key}={digest_md5._quoted(value)}" for key, value in values.items()).encode())
    assert str(refused.value).isprintable()


def test_nobody_acts_for_another() -> None:
    bookie = server()
    response = client("bookkeeper-reader", "secret").respond(bookie.challenge())
    with pytest.raises(AuthenticationFailed, match="act for"):
        bookie.check(response + b',authzid="root"')


@pytest.mark.parametrize("proof", [b"", b"rspauth=00", b"rspauth="])
def test_a_bookie_that_cannot_prove_the_password_is_refused(proof: bytes) -> None:
    reader = client("bookkeeper-reader", "secret")
    reader.respond(server().challenge())
    with pytest.raises(AuthenticationFailed):
        reader.check(proof)


@pytest.mark.parametrize(
    "challenge",
    [b"", b"junk", b'nonce="1",algorithm=md5', b'nonce="1",algorithm=md5-sess,qop="auth-conf"', b"x" * 5000],
)
def test_a_challenge_that_cannot_be_met_is_refused(challenge: bytes) -> None:
    with pytest.raises(AuthenticationFailed):
        client("bookkeeper-reader", "secret").respond(challenge)


@given(st.binary(max_size=200))
def test_junk_is_refused_and_nothing_else_is_raised(junk: bytes) -> None:
    with pytest.raises(AuthenticationFailed):
        server().check(junk)


@given(st.dictionaries(st.from_regex("[a-z][a-z-]{0,8}", fullmatch=True), st.text(max_size=20), max_size=5))
def test_what_is_quoted_is_read_back(values: dict[str, str]) -> None:
    token = ",".join(f"{name}={digest_md5._quoted(value)}" for name, value in values.items())
    assert digest_md5.parse(token.encode()) == values
