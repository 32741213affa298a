from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ProtocolVersion(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VERSION_ONE: _ClassVar[ProtocolVersion]
    VERSION_TWO: _ClassVar[ProtocolVersion]
    VERSION_THREE: _ClassVar[ProtocolVersion]

class StatusCode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EOK: _ClassVar[StatusCode]
    ENOLEDGER: _ClassVar[StatusCode]
    ENOENTRY: _ClassVar[StatusCode]
    EBADREQ: _ClassVar[StatusCode]
    EIO: _ClassVar[StatusCode]
    EUA: _ClassVar[StatusCode]
    EBADVERSION: _ClassVar[StatusCode]
    EFENCED: _ClassVar[StatusCode]
    EREADONLY: _ClassVar[StatusCode]
    ETOOMANYREQUESTS: _ClassVar[StatusCode]
    EUNKNOWNLEDGERSTATE: _ClassVar[StatusCode]

class OperationType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    READ_ENTRY: _ClassVar[OperationType]
    ADD_ENTRY: _ClassVar[OperationType]
    RANGE_READ_ENTRY: _ClassVar[OperationType]
    RANGE_ADD_ENTRY: _ClassVar[OperationType]
    AUTH: _ClassVar[OperationType]
    WRITE_LAC: _ClassVar[OperationType]
    READ_LAC: _ClassVar[OperationType]
    GET_BOOKIE_INFO: _ClassVar[OperationType]
    START_TLS: _ClassVar[OperationType]
    FORCE_LEDGER: _ClassVar[OperationType]
    GET_LIST_OF_ENTRIES_OF_LEDGER: _ClassVar[OperationType]
    BATCH_READ_ENTRY: _ClassVar[OperationType]
VERSION_ONE: ProtocolVersion
VERSION_TWO: ProtocolVersion
VERSION_THREE: ProtocolVersion
EOK: StatusCode
ENOLEDGER: StatusCode
ENOENTRY: StatusCode
EBADREQ: StatusCode
EIO: StatusCode
EUA: StatusCode
EBADVERSION: StatusCode
EFENCED: StatusCode
EREADONLY: StatusCode
ETOOMANYREQUESTS: StatusCode
EUNKNOWNLEDGERSTATE: StatusCode
READ_ENTRY: OperationType
ADD_ENTRY: OperationType
RANGE_READ_ENTRY: OperationType
RANGE_ADD_ENTRY: OperationType
AUTH: OperationType
WRITE_LAC: OperationType
READ_LAC: OperationType
GET_BOOKIE_INFO: OperationType
START_TLS: OperationType
FORCE_LEDGER: OperationType
GET_LIST_OF_ENTRIES_OF_LEDGER: OperationType
BATCH_READ_ENTRY: OperationType

class PacketHeader(_message.Message):
    __slots__ = ("version", "operation", "txn_id", "priority")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    TXN_ID_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    version: ProtocolVersion
    operation: OperationType
    txn_id: int
    priority: int
    def __init__(self, version: _Optional[_Union[ProtocolVersion, str]] = ..., operation: _Optional[_Union[OperationType, str]] = ..., txn_id: _Optional[int] = ..., priority: _Optional[int] = ...) -> None: ...

class Request(_message.Message):
    __slots__ = ("header", "read_request", "add_request", "auth_request", "write_lac_request", "read_lac_request", "get_bookie_info_request", "start_tls_request", "force_ledger_request", "get_list_of_entries_of_ledger_request", "batch_read_request", "request_context")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    READ_REQUEST_FIELD_NUMBER: _ClassVar[int]
    ADD_REQUEST_FIELD_NUMBER: _ClassVar[int]
    AUTH_REQUEST_FIELD_NUMBER: _ClassVar[int]
    WRITE_LAC_REQUEST_FIELD_NUMBER: _ClassVar[int]
    READ_LAC_REQUEST_FIELD_NUMBER: _ClassVar[int]
    GET_BOOKIE_INFO_REQUEST_FIELD_NUMBER: _ClassVar[int]
    START_TLS_REQUEST_FIELD_NUMBER: _ClassVar[int]
    FORCE_LEDGER_REQUEST_FIELD_NUMBER: _ClassVar[int]
    GET_LIST_OF_ENTRIES_OF_LEDGER_REQUEST_FIELD_NUMBER: _ClassVar[int]
    BATCH_READ_REQUEST_FIELD_NUMBER: _ClassVar[int]
    REQUEST_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    header: PacketHeader
    read_request: ReadRequest
    add_request: AddRequest
    auth_request: AuthMessage
    write_lac_request: WriteLacRequest
    read_lac_request: ReadLacRequest
    get_bookie_info_request: GetBookieInfoRequest
    start_tls_request: StartTlsRequest
    force_ledger_request: ForceLedgerRequest
    get_list_of_entries_of_ledger_request: GetListOfEntriesOfLedgerRequest
    batch_read_request: BatchReadRequest
    request_context: _containers.RepeatedCompositeFieldContainer[ContextPair]
    def __init__(self, header: _Optional[_Union[PacketHeader, _Mapping]] = ..., read_request: _Optional[_Union[ReadRequest, _Mapping]] = ..., add_request: _Optional[_Union[AddRequest, _Mapping]] = ..., auth_request: _Optional[_Union[AuthMessage, _Mapping]] = ..., write_lac_request: _Optional[_Union[WriteLacRequest, _Mapping]] = ..., read_lac_request: _Optional[_Union[ReadLacRequest, _Mapping]] = ..., get_bookie_info_request: _Optional[_Union[GetBookieInfoRequest, _Mapping]] = ..., start_tls_request: _Optional[_Union[StartTlsRequest, _Mapping]] = ..., force_ledger_request: _Optional[_Union[ForceLedgerRequest, _Mapping]] = ..., get_list_of_entries_of_ledger_request: _Optional[_Union[GetListOfEntriesOfLedgerRequest, _Mapping]] = ..., batch_read_request: _Optional[_Union[BatchReadRequest, _Mapping]] = ..., request_context: _Optional[_Iterable[_Union[ContextPair, _Mapping]]] = ...) -> None: ...

class ContextPair(_message.Message):
    __slots__ = ("key", "value")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: str
    def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class ReadRequest(_message.Message):
    __slots__ = ("ledger_id", "entry_id", "master_key", "previous_lac", "time_out", "flag", "ledger_scope_id")
    class Flag(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        FENCE_LEDGER: _ClassVar[ReadRequest.Flag]
        ENTRY_PIGGYBACK: _ClassVar[ReadRequest.Flag]
    FENCE_LEDGER: ReadRequest.Flag
    ENTRY_PIGGYBACK: ReadRequest.Flag
    LEDGER_ID_FIELD_NUMBER: _ClassVar[int]
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    MASTER_KEY_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_LAC_FIELD_NUMBER: _ClassVar[int]
    TIME_OUT_FIELD_NUMBER: _ClassVar[int]
    FLAG_FIELD_NUMBER: _ClassVar[int]
    LEDGER_SCOPE_ID_FIELD_NUMBER: _ClassVar[int]
    ledger_id: int
    entry_id: int
    master_key: bytes
    previous_lac: int
    time_out: int
    flag: ReadRequest.Flag
    ledger_scope_id: int
    def __init__(self, ledger_id: _Optional[int] = ..., entry_id: _Optional[int] = ..., master_key: _Optional[bytes] = ..., previous_lac: _Optional[int] = ..., time_out: _Optional[int] = ..., flag: _Optional[_Union[ReadRequest.Flag, str]] = ..., ledger_scope_id: _Optional[int] = ...) -> None: ...

class BatchReadRequest(_message.Message):
    __slots__ = ("ledger_id", "start_entry_id", "max_count", "max_size", "master_key", "previous_lac", "time_out", "flag", "ledger_scope_id")
    class Flag(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        FENCE_LEDGER: _ClassVar[BatchReadRequest.Flag]
        ENTRY_PIGGYBACK: _ClassVar[BatchReadRequest.Flag]
    FENCE_LEDGER: BatchReadRequest.Flag
    ENTRY_PIGGYBACK: BatchReadRequest.Flag
    LEDGER_ID_FIELD_NUMBER: _ClassVar[int]
    START_ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    MAX_COUNT_FIELD_NUMBER: _ClassVar[int]
    MAX_SIZE_FIELD_NUMBER: _ClassVar[int]
    MASTER_KEY_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_LAC_FIELD_NUMBER: _ClassVar[int]
    TIME_OUT_FIELD_NUMBER: _ClassVar[int]
    FLAG_FIELD_NUMBER: _ClassVar[int]
    LEDGER_SCOPE_ID_FIELD_NUMBER: _ClassVar[int]
    ledger_id: int
    start_entry_id: int
    max_count: int
    max_size: int
    master_key: bytes
    previous_lac: int
    time_out: int
    flag: BatchReadRequest.Flag
    ledger_scope_id: int
    def __init__(self, ledger_id: _Optional[int] = ..., start_entry_id: _Optional[int] = ..., max_count: _Optional[int] = ..., max_size: _Optional[int] = ..., master_key: _Optional[bytes] = ..., previous_lac: _Optional[int] = ..., time_out: _Optional[int] = ..., flag: _Optional[_Union[BatchReadRequest.Flag, str]] = ..., ledger_scope_id: _Optional[int] = ...) -> None: ...

class AddRequest(_message.Message):
    __slots__ = ("ledger_id", "entry_id", "master_key", "body", "write_flags", "flag", "ledger_scope_id")
    class Flag(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        RECOVERY_ADD: _ClassVar[AddRequest.Flag]
    RECOVERY_ADD: AddRequest.Flag
    LEDGER_ID_FIELD_NUMBER: _ClassVar[int]
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    MASTER_KEY_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    WRITE_FLAGS_FIELD_NUMBER: _ClassVar[int]
    FLAG_FIELD_NUMBER: _ClassVar[int]
    LEDGER_SCOPE_ID_FIELD_NUMBER: _ClassVar[int]
    ledger_id: int
    entry_id: int
    master_key: bytes
    body: bytes
    write_flags: int
    flag: AddRequest.Flag
    ledger_scope_id: int
    def __init__(self, ledger_id: _Optional[int] = ..., entry_id: _Optional[int] = ..., master_key: _Optional[bytes] = ..., body: _Optional[bytes] = ..., write_flags: _Optional[int] = ..., flag: _Optional[_Union[AddRequest.Flag, str]] = ..., ledger_scope_id: _Optional[int] = ...) -> None: ...

class StartTlsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WriteLacRequest(_message.Message):
    __slots__ = ("ledger_id", "lac", "master_key", "body", "ledger_scope_id")
    LEDGER_ID_FIELD_NUMBER: _ClassVar[int]
    LAC_FIELD_NUMBER: _ClassVar[int]
    MASTER_KEY_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    LEDGER_SCOPE_ID_FIELD_NUMBER: _ClassVar[int]
    ledger_id: int
    lac: int
    master_key: bytes
    body: bytes
    ledger_scope_id: int
    def __init__(self, ledger_id: _Optional[int] = ..., lac: _Optional[int] = ..., master_key: _Optional[bytes] = ..., body: _Optional[bytes] = ..., ledger_scope_id: _Optional[int] = ...) -> None: ...

class ForceLedgerRequest(_message.Message):
    __slots__ = ("ledger_id", "ledger_scope_id")
    LEDGER_ID_FIELD_NUMBER: _ClassVar[int]
    LEDGER_SCOPE_ID_FIELD_NUMBER: _ClassVar[int]
    ledger_id: int
    ledger_scope_id: int
    def __init__(self, ledger_id: _Optional[int] = ..., ledger_scope_id: _Optional[int] = ...) -> None: ...

class ReadLacRequest(_message.Message):
    __slots__ = ("ledger_id", "ledger_scope_id")
    LEDGER_ID_FIELD_NUMBER: _ClassVar[int]
    LEDGER_SCOPE_ID_FIELD_NUMBER: _ClassVar[int]
    ledger_id: int
    ledger_scope_id: int
    def __init__(self, ledger_id: _Optional[int] = ..., ledger_scope_id: _Optional[int] = ...) -> None: ...

class GetBookieInfoRequest(_message.Message):
    __slots__ = ("requested",)
    REQUESTED_FIELD_NUMBER: _ClassVar[int]
    requested: int
    def __init__(self, requested: _Optional[int] = ...) -> None: ...

class GetListOfEntriesOfLedgerRequest(_message.Message):
    __slots__ = ("ledger_id", "ledger_scope_id")
    LEDGER_ID_FIELD_NUMBER: _ClassVar[int]
    LEDGER_SCOPE_ID_FIELD_NUMBER: _ClassVar[int]
    ledger_id: int
    ledger_scope_id: int
    def __init__(self, ledger_id: _Optional[int] = ..., ledger_scope_id: _Optional[int] = ...) -> None: ...

class Response(_message.Message):
    __slots__ = ("header", "status", "read_response", "add_response", "auth_response", "write_lac_response", "read_lac_response", "get_bookie_info_response", "start_tls_response", "force_ledger_response", "get_list_of_entries_of_ledger_response", "batch_read_response")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    READ_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    ADD_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    AUTH_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    WRITE_LAC_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    READ_LAC_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    GET_BOOKIE_INFO_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    START_TLS_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    FORCE_LEDGER_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    GET_LIST_OF_ENTRIES_OF_LEDGER_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    BATCH_READ_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    header: PacketHeader
    status: StatusCode
    read_response: ReadResponse
    add_response: AddResponse
    auth_response: AuthMessage
    write_lac_response: WriteLacResponse
    read_lac_response: ReadLacResponse
    get_bookie_info_response: GetBookieInfoResponse
    start_tls_response: StartTlsResponse
    force_ledger_response: ForceLedgerResponse
    get_list_of_entries_of_ledger_response: GetListOfEntriesOfLedgerResponse
    batch_read_response: BatchReadResponse
    def __init__(self, header: _Optional[_Union[PacketHeader, _Mapping]] = ..., status: _Optional[_Union[StatusCode, str]] = ..., read_response: _Optional[_Union[ReadResponse, _Mapping]] = ..., add_response: _Optional[_Union[AddResponse, _Mapping]] = ..., auth_response: _Optional[_Union[AuthMessage, _Mapping]] = ..., write_lac_response: _Optional[_Union[WriteLacResponse, _Mapping]] = ..., read_lac_response: _Optional[_Union[ReadLacResponse, _Mapping]] = ..., get_bookie_info_response: _Optional[_Union[GetBookieInfoResponse, _Mapping]] = ..., start_tls_response: _Optional[_Union[StartTlsResponse, _Mapping]] = ..., force_ledger_response: _Optional[_Union[ForceLedgerResponse, _Mapping]] = ..., get_list_of_entries_of_ledger_response: _Optional[_Union[GetListOfEntriesOfLedgerResponse, _Mapping]] = ..., batch_read_response: _Optional[_Union[BatchReadResponse, _Mapping]] = ...) -> None: ...

class ReadResponse(_message.Message):
    __slots__ = ("status", "ledger_id", "entry_id", "body", "max_lac", "lac_update_timestamp", "ledger_scope_id")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    LEDGER_ID_FIELD_NUMBER: _ClassVar[int]
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    MAX_LAC_FIELD_NUMBER: _ClassVar[int]
    LAC_UPDATE_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    LEDGER_SCOPE_ID_FIELD_NUMBER: _ClassVar[int]
    status: StatusCode
    ledger_id: int
    entry_id: int
    body: bytes
    max_lac: int
    lac_update_timestamp: int
    ledger_scope_id: int
    def __init__(self, status: _Optional[_Union[StatusCode, str]] = ..., ledger_id: _Optional[int] = ..., entry_id: _Optional[int] = ..., body: _Optional[bytes] = ..., max_lac: _Optional[int] = ..., lac_update_timestamp: _Optional[int] = ..., ledger_scope_id: _Optional[int] = ...) -> None: ...

class BatchReadResponse(_message.Message):
    __slots__ = ("status", "ledger_id", "start_entry_id", "body", "max_lac", "lac_update_timestamp", "ledger_scope_id")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    LEDGER_ID_FIELD_NUMBER: _ClassVar[int]
    START_ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    MAX_LAC_FIELD_NUMBER: _ClassVar[int]
    LAC_UPDATE_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    LEDGER_SCOPE_ID_FIELD_NUMBER: _ClassVar[int]
    status: StatusCode
    ledger_id: int
    start_entry_id: int
    body: _containers.RepeatedScalarFieldContainer[bytes]
    max_lac: int
    lac_update_timestamp: int
    ledger_scope_id: int
    def __init__(self, status: _Optional[_Union[StatusCode, str]] = ..., ledger_id: _Optional[int] = ..., start_entry_id: _Optional[int] = ..., body: _Optional[_Iterable[bytes]] = ..., max_lac: _Optional[int] = ..., lac_update_timestamp: _Optional[int] = ..., ledger_scope_id: _Optional[int] = ...) -> None: ...

class AddResponse(_message.Message):
    __slots__ = ("status", "ledger_id", "entry_id", "ledger_scope_id")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    LEDGER_ID_FIELD_NUMBER: _ClassVar[int]
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    LEDGER_SCOPE_ID_FIELD_NUMBER: _ClassVar[int]
    status: StatusCode
    ledger_id: int
    entry_id: int
    ledger_scope_id: int
    def __init__(self, status: _Optional[_Union[StatusCode, str]] = ..., ledger_id: _Optional[int] = ..., entry_id: _Optional[int] = ..., ledger_scope_id: _Optional[int] = ...) -> None: ...

class StartTlsResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WriteLacResponse(_message.Message):
    __slots__ = ("status", "ledger_id", "ledger_scope_id")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    LEDGER_ID_FIELD_NUMBER: _ClassVar[int]
    LEDGER_SCOPE_ID_FIELD_NUMBER: _ClassVar[int]
    status: StatusCode
    ledger_id: int
    ledger_scope_id: int
    def __init__(self, status: _Optional[_Union[StatusCode, str]] = ..., ledger_id: _Optional[int] = ..., ledger_scope_id: _Optional[int] = ...) -> None: ...

class ForceLedgerResponse(_message.Message):
    __slots__ = ("status", "ledger_id", "ledger_scope_id")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    LEDGER_ID_FIELD_NUMBER: _ClassVar[int]
    LEDGER_SCOPE_ID_FIELD_NUMBER: _ClassVar[int]
    status: StatusCode
    ledger_id: int
    ledger_scope_id: int
    def __init__(self, status: _Optional[_Union[StatusCode, str]] = ..., ledger_id: _Optional[int] = ..., ledger_scope_id: _Optional[int] = ...) -> None: ...

class ReadLacResponse(_message.Message):
    __slots__ = ("status", "ledger_id", "lac_body", "last_entry_body", "ledger_scope_id")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    LEDGER_ID_FIELD_NUMBER: _ClassVar[int]
    LAC_BODY_FIELD_NUMBER: _ClassVar[int]
    LAST_ENTRY_BODY_FIELD_NUMBER: _ClassVar[int]
    LEDGER_SCOPE_ID_FIELD_NUMBER: _ClassVar[int]
    status: StatusCode
    ledger_id: int
    lac_body: bytes
    last_entry_body: bytes
    ledger_scope_id: int
    def __init__(self, status: _Optional[_Union[StatusCode, str]] = ..., ledger_id: _Optional[int] = ..., lac_body: _Optional[bytes] = ..., last_entry_body: _Optional[bytes] = ..., ledger_scope_id: _Optional[int] = ...) -> None: ...

class GetBookieInfoResponse(_message.Message):
    __slots__ = ("status", "total_disk_capacity", "free_disk_space")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_DISK_CAPACITY_FIELD_NUMBER: _ClassVar[int]
    FREE_DISK_SPACE_FIELD_NUMBER: _ClassVar[int]
    status: StatusCode
    total_disk_capacity: int
    free_disk_space: int
    def __init__(self, status: _Optional[_Union[StatusCode, str]] = ..., total_disk_capacity: _Optional[int] = ..., free_disk_space: _Optional[int] = ...) -> None: ...

class GetListOfEntriesOfLedgerResponse(_message.Message):
    __slots__ = ("status", "ledger_id", "availability_of_entries_of_ledger", "ledger_scope_id")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    LEDGER_ID_FIELD_NUMBER: _ClassVar[int]
    AVAILABILITY_OF_ENTRIES_OF_LEDGER_FIELD_NUMBER: _ClassVar[int]
    LEDGER_SCOPE_ID_FIELD_NUMBER: _ClassVar[int]
    status: StatusCode
    ledger_id: int
    availability_of_entries_of_ledger: bytes
    ledger_scope_id: int
    def __init__(self, status: _Optional[_Union[StatusCode, str]] = ..., ledger_id: _Optional[int] = ..., availability_of_entries_of_ledger: _Optional[bytes] = ..., ledger_scope_id: _Optional[int] = ...) -> None: ...

class AuthMessage(_message.Message):
    __slots__ = ("auth_plugin_name", "payload")
    AUTH_PLUGIN_NAME_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    auth_plugin_name: str
    payload: bytes
    def __init__(self, auth_plugin_name: _Optional[str] = ..., payload: _Optional[bytes] = ...) -> None: ...
