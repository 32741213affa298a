"""The state machines of the protocol, as tables.  Tests hold the code against them; the reference draws them."""

from typing import NamedTuple


class Transition(NamedTuple):
    """An event in a state, the action on it, and the state after it."""

    state: str
    event: str
    action: str
    next: str


class Machine(NamedTuple):
    """A state machine; the first state is where it starts."""

    title: str
    states: tuple[str, ...]
    transitions: tuple[Transition, ...]


_EITHER, _V2_ONLY, _CLOSED = "EITHER", "V2 ONLY", "CLOSED"

DETECTION = Machine(
    "Which protocol version a connection speaks, as a bookie detects it",
    (_EITHER, _V2_ONLY, _CLOSED),
    (
        Transition(_EITHER, "a frame that is V3", "answer in V3", _EITHER),
        Transition(_EITHER, "a frame that is not V3 but V2", "answer in V2", _V2_ONLY),
        Transition(_EITHER, "a frame that is neither", "close", _CLOSED),
        Transition(_EITHER, "a length over the limit", "close", _CLOSED),
        Transition(_V2_ONLY, "a frame that is V2", "answer in V2", _V2_ONLY),
        Transition(_V2_ONLY, "any other frame, V3 included", "close", _CLOSED),
        Transition(_V2_ONLY, "a length over the limit", "close", _CLOSED),
    ),
)

_UNPROVEN, _ASKED, _OPEN = "UNPROVEN", "ASKED", "OPEN"

AUTHENTICATION = Machine(
    "The gate of a bookie that asks for authentication",
    (_UNPROVEN, _ASKED, _OPEN, _CLOSED),
    (
        Transition(_UNPROVEN, "AUTH with the bookie's plugin name", "ask the provider", _ASKED),
        Transition(_ASKED, "the provider answers with a token", "send it", _UNPROVEN),
        Transition(_ASKED, "the provider is satisfied", "send its last token", _OPEN),
        Transition(_ASKED, "the provider refuses, V2", "close", _CLOSED),
        Transition(_ASKED, "the provider refuses, V3", "EUA, then close", _CLOSED),
        Transition(_ASKED, "another AUTH before the answer", "close", _CLOSED),
        Transition(_UNPROVEN, "AUTH with another plugin name, V2", "close", _CLOSED),
        Transition(_UNPROVEN, "AUTH with another plugin name, V3", "EUA", _UNPROVEN),
        Transition(_UNPROVEN, "V2 add or read", "EUA", _UNPROVEN),
        Transition(_UNPROVEN, "V2 batch read", "close", _CLOSED),
        Transition(_UNPROVEN, "V3 START_TLS", "as on any connection", _UNPROVEN),
        Transition(_UNPROVEN, "any other V3 request", "EUA", _UNPROVEN),
        Transition(_OPEN, "AUTH", '"AuthDisabledPlugin"', _OPEN),
    ),
)

_NEW, _ASKING_TLS, _SECURING, _AUTHENTICATING, _COMPLETE, _FAILED = (
    "NEW",
    "ASKING_TLS",
    "SECURING",
    "AUTHENTICATING",
    "COMPLETE",
    "FAILED",
)

HANDSHAKE = Machine(
    "What a client does on a new connection before its first request",
    (_NEW, _ASKING_TLS, _SECURING, _AUTHENTICATING, _COMPLETE, _FAILED),
    (
        Transition(_NEW, "TLS is wanted", "START_TLS, in V3", _ASKING_TLS),
        Transition(_NEW, "only a plugin", "its first token", _AUTHENTICATING),
        Transition(_NEW, "neither", "", _COMPLETE),
        Transition(_ASKING_TLS, "EOK", "ClientHello", _SECURING),
        Transition(_ASKING_TLS, "another status", "drop the connection", _FAILED),
        Transition(_ASKING_TLS, "EOK, and bytes after it", "drop the connection", _FAILED),
        Transition(_SECURING, "TLS is up, and a plugin", "its first token", _AUTHENTICATING),
        Transition(_SECURING, "TLS is up", "", _COMPLETE),
        Transition(_AUTHENTICATING, "a token", "the provider's answer", _AUTHENTICATING),
        Transition(_AUTHENTICATING, "another reply", "", _AUTHENTICATING),
        Transition(_AUTHENTICATING, "the provider is done", "", _COMPLETE),
        Transition(_AUTHENTICATING, '"AuthDisabledPlugin"', "", _COMPLETE),
        Transition(_AUTHENTICATING, '"AuthDisabledPlugin" after a token', "drop the connection", _FAILED),
        Transition(_AUTHENTICATING, "a token of another plugin", "drop the connection", _FAILED),
        Transition(_AUTHENTICATING, "V3: another status", "drop the connection", _FAILED),
        Transition(_AUTHENTICATING, "the provider refuses", "drop the connection", _FAILED),
    ),
)

_IDLE, _CONNECTING, _CONNECTED, _RESTING = "IDLE", "CONNECTING", "CONNECTED", "RESTING"

CHANNEL = Machine(
    "A client's channel to one bookie in one protocol version",
    (_IDLE, _CONNECTING, _CONNECTED, _RESTING, _CLOSED),
    (
        Transition(_IDLE, "a request", "queue it, resolve, connect", _CONNECTING),
        Transition(_CONNECTING, "a request", "queue it", _CONNECTING),
        Transition(_CONNECTING, "connected, secured, authenticated", "send the queue", _CONNECTED),
        Transition(_CONNECTED, "a request", "send it", _CONNECTED),
        Transition(_CONNECTED, "the connection is lost", "fail what is in flight", _IDLE),
        Transition(_CONNECTING, "cannot connect", "fail the queue", _RESTING),
        Transition(_RESTING, "a request", "fail it", _RESTING),
        Transition(_RESTING, "the reconnect delay is over", "", _IDLE),
        Transition(_IDLE, "close", "", _CLOSED),
        Transition(_CONNECTING, "close", "fail the queue", _CLOSED),
        Transition(_CONNECTED, "close", "drop the connection", _CLOSED),
        Transition(_RESTING, "close", "", _CLOSED),
        Transition(_CLOSED, "a request", "fail it", _CLOSED),
    ),
)

_UNKNOWN, _PROBED, _SERVES, _LACKS = "UNKNOWN", "PROBED", "SERVES", "LACKS"

CAPABILITY = Machine(
    "What a client knows of a bookie's batch read",
    (_UNKNOWN, _PROBED, _SERVES, _LACKS),
    (
        Transition(_UNKNOWN, "a batch read is wanted", "look, or send it on a connection of its own", _PROBED),
        Transition(_PROBED, "a batch read is wanted", "let it wait", _PROBED),
        Transition(_PROBED, "V3: batch-read-v3 is published", "go on in batches", _SERVES),
        Transition(_PROBED, "V3: other extensions are published", "go on singly", _LACKS),
        Transition(_PROBED, "an answer, be it an error", "go on in batches", _SERVES),
        Transition(_PROBED, "bad request, bad version, or closed without an answer", "go on singly", _LACKS),
        Transition(_PROBED, "time-out, or no connection", "the request fails", _UNKNOWN),
        Transition(_SERVES, "the connection is lost", "", _UNKNOWN),
        Transition(_SERVES, "the knowledge expires", "", _UNKNOWN),
        Transition(_LACKS, "the knowledge expires", "", _UNKNOWN),
    ),
)

_NONE, _LEDGER_OPEN, _IN_RECOVERY, _LEDGER_CLOSED = "(none)", "OPEN", "IN_RECOVERY", "CLOSED"

LEDGER = Machine(
    "The states of a ledger's metadata",
    (_NONE, _LEDGER_OPEN, _IN_RECOVERY, _LEDGER_CLOSED),
    (
        Transition(_NONE, "create", "one fragment, from entry 0", _LEDGER_OPEN),
        Transition(_LEDGER_OPEN, "a bookie is replaced", "a fragment from LAC + 1", _LEDGER_OPEN),
        Transition(_LEDGER_OPEN, "the writer closes", "last entry, length", _LEDGER_CLOSED),
        Transition(_LEDGER_OPEN, "opened with recovery", "state only, before any fence", _IN_RECOVERY),
        Transition(_IN_RECOVERY, "another recovery begins", "nothing", _IN_RECOVERY),
        Transition(_IN_RECOVERY, "recovered", "last entry, length, new fragments", _LEDGER_CLOSED),
        Transition(
            _LEDGER_CLOSED, "copies are made elsewhere", "bookies replaced in place, in every state", _LEDGER_CLOSED
        ),
        Transition(_LEDGER_CLOSED, "deleted", "in every state", _NONE),
    ),
)

MACHINES = {
    "detection": DETECTION,
    "authentication": AUTHENTICATION,
    "handshake": HANDSHAKE,
    "channel": CHANNEL,
    "batch-read-capability": CAPABILITY,
    "ledger": LEDGER,
}
"""By the name that the pages of the reference use."""
