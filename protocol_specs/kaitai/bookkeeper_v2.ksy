# Made by python -m protocol_specs.kaitai.generate out of the declarations in protocol_specs.  Do not edit.

meta:
  id: bookkeeper_v2
  title: "BookKeeper, frames of the V2 protocol"
  license: Apache-2.0
  endian: be
  bit-endian: be
doc: "One direction of a connection.  The message of an AUTH packet is protobuf: AuthMessage in v3.proto."
params:
  - id: is_reply
    type: bool
    doc: "whether these came from the bookie"
seq:
  - id: frames
    type: frame
    repeat: eos
types:
  frame:
    seq:
      - id: length
        type: u4
        doc: "bytes that follow"
      - id: packet
        size: length
        type:
          switch-on: _root.is_reply
          cases:
            "true": reply
            "false": request
  request:
    seq:
      - id: message
        type:
          switch-on: operation
          cases:
            "operation::add_entry": add_request
            "operation::read_entry": read_request
            "operation::batch_read_entry": batch_read_request
            "operation::auth": auth
    instances:
      header:
        pos: 0
        type: u4
      version:
        value: "header >> 24"
      operation:
        value: "(header >> 24) == 0 ? (header & 0xff) : ((header >> 16) & 0xff)"
        enum: operation
      flags:
        value: "(header >> 24) == 0 ? 0 : (header & 0xffff)"
  reply:
    seq:
      - id: message
        type:
          switch-on: operation
          cases:
            "operation::add_entry": add_reply
            "operation::read_entry": read_reply
            "operation::batch_read_entry": batch_read_reply
            "operation::auth": auth
    instances:
      header:
        pos: 0
        type: u4
      version:
        value: "header >> 24"
      operation:
        value: "(header >> 24) == 0 ? (header & 0xff) : ((header >> 16) & 0xff)"
        enum: operation
      flags:
        value: "(header >> 24) == 0 ? 0 : (header & 0xffff)"
  add_request:
    seq:
      - id: header
        type: u4
        doc: "operation 1; flags 2 recovery add, 4 high priority"
      - id: master_key
        size: 20
        doc: "of the ledger; always there"
      - id: ledger_id
        type: s8
        doc: "the first field of the entry"
      - id: entry_id
        type: s8
        doc: "0 or more"
      - id: rest_of_entry
        size-eos: true
        doc: "last add confirmed, length, digest, payload"
  read_request:
    seq:
      - id: header
        type: u4
        doc: "operation 2; flags 1 fencing, 4 high priority"
      - id: ledger_id
        type: s8
        doc: "the ledger"
      - id: entry_id
        type: s8
        doc: "-1: the last entry that this bookie stores"
      - id: master_key
        size: 20
        if: has_key
        doc: "only with the fencing flag, from version 2 on"
    instances:
      has_key:
        value: "(header & 1) != 0 and (header >> 24) >= 2 and (header >> 24) < 0x80"
  batch_read_request:
    seq:
      - id: header
        type: u4
        doc: "operation 7; flags 1 fencing, 4 high priority"
      - id: ledger_id
        type: s8
        doc: "the ledger"
      - id: start_entry_id
        type: s8
        doc: "the first entry wanted"
      - id: request_id
        type: s8
        doc: "any number; comes back in the reply"
      - id: max_count
        type: s4
        doc: "0 or less: no limit"
      - id: max_size
        type: s8
        doc: "bytes of the reply; 0 or less: one entry"
      - id: master_key
        size: 20
        if: has_key
        doc: "only with the fencing flag, from version 2 on"
    instances:
      has_key:
        value: "(header & 1) != 0 and (header >> 24) >= 2 and (header >> 24) < 0x80"
  auth:
    seq:
      - id: header
        type: u4
        doc: "operation 3"
      - id: message
        size-eos: true
        doc: "an AuthMessage (protobuf), without a length of its own"
  add_reply:
    seq:
      - id: header
        type: u4
        doc: "version and operation of the request, flags 0"
      - id: status
        type: s4
        doc: "return code"
        enum: status
      - id: ledger_id
        type: s8
        doc: "as in the request"
      - id: entry_id
        type: s8
        doc: "as in the request"
      - id: ignored
        size-eos: true
        doc: "nothing is sent here; readers skip any bytes"
  read_reply:
    seq:
      - id: header
        type: u4
        doc: "version and operation of the request, flags 0"
      - id: status
        type: s4
        doc: "return code"
        enum: status
      - id: ledger_id
        type: s8
        doc: "as in the request"
      - id: entry_id
        type: s8
        doc: "as in the request, -1 included"
      - id: entry
        size-eos: true
        doc: "as stored; nothing unless the status is 0"
  batch_read_reply:
    seq:
      - id: header
        type: u4
        doc: "version and operation of the request, flags 0"
      - id: status
        type: s4
        doc: "return code"
        enum: status
      - id: ledger_id
        type: s8
        doc: "as in the request"
      - id: start_entry_id
        type: s8
        doc: "as in the request"
      - id: request_id
        type: s8
        doc: "as in the request, in errors too"
      - id: entries
        type: record
        repeat: eos
        doc: "consecutive ones, each after its length; none unless the status is 0"
  record:
    seq:
      - id: length
        type: s4
      - id: body
        size: length
enums:
  operation:
    1: add_entry
    2: read_entry
    3: auth
    7: batch_read_entry
  status:
    0: eok
    1: enoledger
    2: enoentry
    100: ebadreq
    101: eio
    102: eua
    103: ebadversion
    104: efenced
    105: ereadonly
    106: etoomanyrequests
    107: eunknownledgerstate
