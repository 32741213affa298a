# Made by python -m protocol_specs.kaitai.generate out of the declarations in protocol_specs.  Do not edit.

meta:
  id: bookkeeper_entry
  title: "BookKeeper, an entry as it is sent and stored"
  license: Apache-2.0
  endian: be
  bit-endian: be
doc: "Format V1, or V2 outside scope 0.  V1 does not say which digest it has; the ledger's metadata does."
params:
  - id: digest_size_of_v1
    type: u4
    doc: "CRC32 8, HMAC 20, CRC32C 4, DUMMY 0; for format V1 only"
seq:
  - id: content
    type:
      switch-on: is_v2
      cases:
        "true": v2
        "false": v1
instances:
  first_byte:
    pos: 0
    type: u1
  is_v2:
    value: "(first_byte & 0x80) != 0"
types:
  v1:
    seq:
      - id: ledger_id
        type: s8
        doc: "the ledger; not negative"
      - id: entry_id
        type: s8
        doc: "from 0, without gaps"
      - id: last_add_confirmed
        type: s8
        doc: "up to it the writer knew all entries to be acknowledged; -1 at first"
      - id: length
        type: s8
        doc: "payload bytes of the ledger so far, this entry's included"
      - id: digest
        size: _root.digest_size_of_v1
      - id: payload
        size-eos: true
  v2:
    seq:
      - id: flags
        type: u1
        doc: "0xA0 and the number of the digest type"
        valid:
          expr: "(_ & 0xf0) == 0xa0"
      - id: ledger_scope_id
        type: s8
        doc: "upper half of the ledger id; not 0"
      - id: ledger_id
        type: s8
        doc: "lower half of the ledger id; may be negative"
      - id: entry_id
        type: s8
        doc: "from 0, without gaps"
      - id: last_add_confirmed
        type: s8
        doc: "up to it the writer knew all entries to be acknowledged; -1 at first"
      - id: length
        type: s8
        doc: "payload bytes of the ledger so far, this entry's included"
      - id: digest
        size: digest_size
      - id: payload
        size-eos: true
    instances:
      digest_type:
        value: "flags & 0xf"
      digest_size:
        value: "digest_type == 1 ? 8 : digest_type == 2 ? 20 : digest_type == 3 ? 4 : digest_type == 4 ? 0 : 0"
