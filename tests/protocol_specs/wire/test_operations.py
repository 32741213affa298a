"""Operation and flag numbers of both protocol versions."""

from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import Flag, Operation, V3Operation


def test_v2_operations() -> None:
    assert {each.name: each.value for each in Operation} == {
        "ADD_ENTRY": 1,
        "READ_ENTRY": 2,
        "AUTH": 3,
        "BATCH_READ_ENTRY": 7,
    }


def test_v3_operations_are_those_of_the_proto() -> None:
    assert {each.name: each.value for each in V3Operation} == dict(v3_pb2.OperationType.items())


def test_flags_are_bits() -> None:
    assert {each.name: each.value for each in Flag} == {"FENCING": 1, "RECOVERY_ADD": 2, "HIGH_PRIORITY": 4}
