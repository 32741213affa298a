"""Inputs that are wrong in any protocol version: lengths, and the first bytes of other protocols."""

from compat_tests.corpus.recipe import WAITS, Recipe, RecipeClass, one, with_length
from protocol_specs.fields import FRAME_SIZE_MAX

_OVER = FRAME_SIZE_MAX - 3  # 4 + length is one over the limit
_READ = bytes.fromhex("02020000 7e00000000000001 0000000000000000")


def _length(value: int) -> bytes:
    return value.to_bytes(4, "big")


LENGTHS = RecipeClass(
    "lengths",
    "A length word that no frame may have, or a frame that does not come.",
    [
        Recipe("length-0", "A frame of no bytes: no dialect can make anything of it.", one(_length(0))),
        Recipe("length-0-twice", "Two of them.", one(_length(0) * 2)),
        Recipe("length-one-over", "One byte over the default limit; nothing follows.", one(_length(_OVER))),
        Recipe("length-over-with-bytes", "The same, and some of the bytes.", one(_length(_OVER) + _READ)),
        Recipe("length-16-mib", "Well over the limit.", one(_length(1 << 24))),
        Recipe("length-int-max", "The largest signed number.", one(_length((1 << 31) - 1))),
        Recipe("length-int-min", "The smallest signed number: unsigned, so too long.", one(_length(1 << 31))),
        Recipe("length-minus-1", "-1 as a signed number.", one(_length((1 << 32) - 1))),
        Recipe("length-minus-20", "-20 as a signed number, and 20 bytes.", one(_length((1 << 32) - 20) + _READ)),
        Recipe("length-little-endian", "20, with its bytes the wrong way round.", one(b"\x14\0\0\0" + _READ)),
        Recipe("length-word-incomplete", "Three bytes of a length word.", one(b"\0\0\0"), WAITS),
        Recipe("frame-without-bytes", "A length of 20, and nothing.", one(_length(20)), WAITS),
        Recipe("frame-incomplete", "All but the last byte of a V2 read.", one(with_length(_READ)[:-1]), WAITS),
        Recipe(
            "longest-frame-begun",
            "The longest length there is, and a V2 header.",
            one(_length(_OVER - 1) + _READ),
            WAITS,
        ),
    ],
)

_CLIENT_HELLO = bytes.fromhex(
    "16030100 7b010000 77030300 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000020"
)

FOREIGN = RecipeClass(
    "foreign",
    "What clients of other protocols say first.",
    [
        Recipe("http-get", "A request of HTTP/1.1.", one(b"GET /metrics HTTP/1.1\r\nHost: bookie\r\n\r\n")),
        Recipe("http-post", "One with a body.", one(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")),
        Recipe("http2-preface", "How HTTP/2 begins.", one(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")),
        Recipe("tls-client-hello", "TLS without a START_TLS before it.", one(_CLIENT_HELLO)),
        Recipe("tls-alert", "A TLS alert, of 7 bytes.", one(bytes.fromhex("15030300020228"))),
        Recipe("ssh", "A banner of SSH.", one(b"SSH-2.0-OpenSSH_9.6\r\n")),
        Recipe("proxy-v1", "A PROXY line.", one(b"PROXY TCP4 10.0.0.1 10.0.0.2 4000 3181\r\n")),
        Recipe(
            "proxy-v2",
            "The binary form, whose first four bytes are a length of 218 million.",
            one(bytes.fromhex("0d0a0d0a000d0a515549540a 20 00 0000")),
        ),
        Recipe("zookeeper-ruok", "A four-letter word of ZooKeeper.", one(b"ruok")),
        Recipe(
            "zookeeper-connect",
            "ZooKeeper's connect request: a frame of 45 bytes that begin with operation 0.",
            one(bytes.fromhex("0000002d 00000000 0000000000000000 00002710 0000000000000000 00000010") + bytes(17)),
        ),
        Recipe(
            "kafka-api-versions",
            "Kafka's first request: a frame of 20 bytes; as a V2 header it is an AUTH of version 0, of no message.",
            one(bytes.fromhex("00000014 0012 0003 00000001 000a") + b"kafka-test"),
        ),
        Recipe(
            "pulsar-connect",
            "Pulsar's: a frame with a second length in it.",
            one(bytes.fromhex("00000010 0000000c 0802 1208 0a06") + b"client"),
        ),
        Recipe("redis-ping", "Redis.", one(b"*1\r\n$4\r\nPING\r\n")),
        Recipe("amqp", "AMQP 0-9-1.", one(b"AMQP\0\0\x09\x01")),
        Recipe("smtp", "A mail client.", one(b"EHLO example.org\r\n")),
        Recipe("text", "Somebody at a keyboard.", one(b"hello?\r\n")),
        Recipe("spaces", "Only spaces.", one(b" " * 64)),
        Recipe("ones", "Only ff.", one(b"\xff" * 64)),
        Recipe("zeroes", "Only 00: sixteen frames of no bytes.", one(bytes(64))),
        Recipe(
            "postgresql-ssl",
            "Its length counts itself, so half of the frame is missing.",
            one(bytes.fromhex("00000008 04d2162f")),
            WAITS,
        ),
    ],
)

CLASSES = (LENGTHS, FOREIGN)
