import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs import vectors
from protocol_specs.codecs import Malformed
from protocol_specs.disk import cookie


def _message_class() -> type:
    """The message as protobuf itself knows it, to compare with."""
    file = descriptor_pb2.FileDescriptorProto(name="cookie_of_test.proto", package="cookie_of_test", syntax="proto2")
    message = file.message_type.add(name="Cookie")
    for number, name in enumerate(cookie.FIELDS, 1):
        message.field.add(name=name, number=number, label=1, type=12)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("cookie_of_test.Cookie"))


Message = _message_class()
# Python's protobuf writes \a, \b, \f and \v as octal escapes, Java's as letters; so do we.
CHARACTERS = st.characters(exclude_characters="\a\b\f\v", exclude_categories=["Cs"])
VECTORS = [vector for vector in vectors.load("disk") if vector["spec"] == "disk/cookie"]
TEXTS = st.dictionaries(st.sampled_from(cookie.FIELDS), st.text(CHARACTERS, min_size=1))


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_vectors(vector: dict[str, object]) -> None:
    data = bytes.fromhex(str(vector["hex"]))
    values = dict(vector["fields"])  # type: ignore[call-overload]
    layout_version = values.pop("layoutVersion")
    assert cookie.parse(data) == (layout_version, values)
    assert cookie.build(layout_version, values) == data


def test_the_readable_form() -> None:
    values = {"bookieHost": "10.0.0.1:3181", "ledgerDirs": "1\t/data"}
    assert cookie.build(5, values) == b'5\nbookieHost: "10.0.0.1:3181"\nledgerDirs: "1\\t/data"\n'


@given(TEXTS)
def test_what_is_built_is_what_protobuf_prints(values: dict[str, str]) -> None:
    message = Message(**{name: text.encode() for name, text in values.items()})
    body = cookie.build(5, values).removeprefix(b"5\n")
    assert body.decode() == text_format.MessageToString(message, as_utf8=False)
    assert cookie.parse(b"5\n" + body) == (5, values)


@given(
    st.tuples(*[st.text(st.characters(exclude_characters="\n", codec="utf-8"))] * 3),
    st.sampled_from(["", "\n", "\nmore"]),
)
def test_version_3_is_three_bare_lines(lines: tuple[str, str, str], rest: str) -> None:
    data = ("\n".join(["3", *lines]) + rest).encode()
    assert cookie.parse(data) == (3, dict(zip(cookie.FIELDS, lines, strict=False)))


def test_a_line_that_is_missing_has_its_name() -> None:
    with pytest.raises(Malformed, match="ledgerDirs"):
        cookie.parse(b"3\nhost\n/j")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (b"", {}),
        (b"# who\nbookieHost : 'a' \"b\"  # both\n", {"bookieHost": "ab"}),
        (
            b'instanceId: "i", bookieHost: "b"; journalDir: "j"',
            {"instanceId": "i", "bookieHost": "b", "journalDir": "j"},
        ),
        (b'later: 7 later_still { bookieHost: "no" } bookieHost: "yes"', {"bookieHost": "yes"}),
        (b'list: ["x", "y"] bookieHost: "\\x41\\102\\"\\q"', {"bookieHost": 'AB"q'}),
        (b'bookieHost: "a" bookieHost: "b"', {"bookieHost": "b"}),
    ],
)
def test_reading_is_lenient(text: bytes, values: dict[str, str]) -> None:
    assert cookie.parse(b"4\n" + text) == (4, values)


@pytest.mark.parametrize("data", [b"", b"x\n", b'5\nbookieHost: "open', b"5\nbookieHost: \xff"])
def test_what_is_no_cookie_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        cookie.parse(data)
