import pytest

from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.errors import LedgerFenced, ProtocolViolation
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.protocol.client.v2 import V2ClientConnection
from bookkeeper_tx.protocol.client.v2_add_runs import AddReplies, AddReplyReader, add_requests
from bookkeeper_tx.protocol.client.v2_answers import error_of_code
from bookkeeper_tx.protocol.v2_frames import ADD_REPLY, REPLY_LENGTH
from protocol_specs import fields
from protocol_specs.wire import framing
from protocol_specs.wire import status as statuses
from protocol_specs.wire.operations import Operation

DIGEST = EntryDigest(DigestType.CRC32C, b"secret")
HEADER = framing.join_header(framing.VERSION_MAX, Operation.ADD_ENTRY)


def sealed(*payloads):
    return [DIGEST.seal(7, entry_id, -1, 0, payload) for entry_id, payload in enumerate(payloads)]


def reply(entry_id, status=statuses.OK, ledger_id=7):
    return ADD_REPLY.pack_fixed(REPLY_LENGTH, HEADER, status, ledger_id, entry_id)


@pytest.mark.parametrize("entries", [sealed(b"a", b"b", b"c"), sealed(b"a", b"", b"long"), sealed(b"alone")])
def test_requests_are_those_that_the_client_sends_one_by_one(entries):
    connection = V2ClientConnection(fields.FRAME_SIZE_MAX)
    for entry_id, entry in enumerate(entries):
        connection.add_entry(entry_id, 0.0, 7, entry_id, entry, DIGEST.master_key)
    assert add_requests(DIGEST.master_key, entries) == connection.data_to_send()


def test_equal_replies_are_one_run_however_they_are_cut():
    data = b"".join(map(reply, range(100)))
    whole = AddReplyReader(1024).receive(data)
    assert whole == [AddReplies(statuses.OK, 7, range(100))]
    reader = AddReplyReader(1024)
    pieces = [each for at in range(0, len(data), 13) for each in reader.receive(data[at : at + 13])]
    assert [entry_id for each in pieces for entry_id in each.entry_ids] == list(range(100))


def test_an_error_ends_a_run():
    data = b"".join([*map(reply, range(20)), reply(20, statuses.EFENCED.v2), *map(reply, range(21, 40))])
    replies = AddReplyReader(1024).receive(data)
    refused = [each for each in replies if each.status != statuses.OK]
    assert [each.entry_ids for each in refused] == [range(20, 21)]
    assert isinstance(error_of_code(refused[0].status), LedgerFenced)
    assert [entry_id for each in replies for entry_id in each.entry_ids] == list(range(40))


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x00\x00\x02ab",
        ADD_REPLY.pack_fixed(REPLY_LENGTH, framing.join_header(2, Operation.READ_ENTRY), 0, 7, 0),
        b"\x7f\xff\xff\xff",
    ],
)
def test_what_answers_no_add_is_a_violation(data):
    with pytest.raises(ProtocolViolation):
        AddReplyReader(1024).receive(data)
