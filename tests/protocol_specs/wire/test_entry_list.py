"""The declaration of the list of entries against bytes captured from Java."""

from protocol_specs import vectors
from protocol_specs.wire import entry_list


def test_captured_list() -> None:
    """Four groups, though one would do: that is how Java encodes."""
    (vector,) = [each for each in vectors.load("wire") if each["name"] == "v3 LIST 1,2,4,5,7,8,10,11"]
    reply = vector["reply_fields"]["get_list_of_entries_of_ledger_response"]
    data = bytes.fromhex(reply["availability_of_entries_of_ledger"])
    found = entry_list.ENTRY_LIST.parse(data)
    assert (found.version, found.group_count, found.reserved) == (entry_list.VERSION, 4, bytes(56))
    assert [group.first_sequence_start for group in found.groups] == [1, 4, 7, 10]
    assert {(group.sequence_size, group.sequence_period) for group in found.groups} == {(2, 0)}
    assert entry_list.ENTRY_LIST.build(found) == data


def test_sizes() -> None:
    assert (entry_list.HEADER_SIZE, entry_list.GROUP_SIZE) == (64, 24)
