# Made by python -m protocol_specs.kaitai.generate out of the declarations in protocol_specs.  Do not edit.

meta:
  id: bookkeeper_journal
  title: "BookKeeper, a journal file"
  license: Apache-2.0
  endian: be
  bit-endian: be
doc: "Version 5 or later.  Zeros follow the last record."
seq:
  - id: header
    type: header
    size: 512
  - id: records
    type: record
    repeat: until
    repeat-until: "_io.eof or _.length == 0"
    if: "not _io.eof"
types:
  header:
    seq:
      - id: magic
        contents:
          - 66
          - 75
          - 76
          - 71
        doc: "`BKLG`"
      - id: version
        type: s4
        doc: "6, or 7 with scoped records; 1 to 5 are read as well"
  record:
    seq:
      - id: length
        type: s4
        doc: "0: nothing here, nor after; -256: a pad record"
        valid:
          expr: "_ >= 0 or _ == -256"
      - id: pad
        type: pad
        if: "length == -256"
      - id: body
        size: length
        type: body
        if: "length > 0"
  pad:
    seq:
      - id: size
        type: s4
        doc: "bytes that follow"
      - id: body
        size: size
        type: pad_body
        doc: "any bytes that fill the block; not looked at"
  pad_body:
    doc: "Java writes zeros and never reads them; bookkeeper_tx puts the seal of the records before it here."
    seq:
      - id: seal
        type: seal
        if: is_seal
      - id: rest
        size-eos: true
    instances:
      mark:
        pos: 0
        size: 8
      is_seal:
        value: "_io.size >= 28 and (mark == [98, 107, 116, 120, 83, 69, 65, 76] or mark == [98, 107, 116, 120, 76, 65, 90, 89])"
  seal:
    seq:
      - id: magic
        size: 8
        doc: "`bktxSEAL`; `bktxLAZY` if not all that is before it was synced"
      - id: salt
        size: 8
        doc: "random, the same in all seals of a file, new for each file"
      - id: start
        type: s8
        doc: "offset in the file where the group's records start"
      - id: crc32c
        type: u4
        doc: "of the bytes from start up to the pad record"
  body:
    seq:
      - id: content
        type:
          switch-on: form
          cases:
            0: entry
            1: scoped_entry
            2: fence
            3: scoped_fence
            4: blob
            5: scoped_blob
    instances:
      first_byte:
        pos: 0
        type: u1
      is_scoped:
        value: "(first_byte & 0x80) != 0"
      plain_kind:
        pos: 8
        type: s8
      scoped_kind:
        pos: 17
        type: s8
      kind:
        value: "is_scoped ? scoped_kind : plain_kind"
        doc: "an entry id, or negative: see enum kind"
      form:
        value: "(kind >= 0 ? 0 : kind == -8192 or kind == -1651800065 ? 2 : 4) + (is_scoped ? 1 : 0)"
  entry:
    seq:
      - id: ledger_id
        type: s8
        doc: "the ledger; not negative"
      - id: entry_id
        type: s8
        doc: "from 0, without gaps"
      - id: rest
        size-eos: true
        doc: "the rest of the entry"
  scoped_entry:
    seq:
      - id: flags
        type: u1
        doc: "0xA0 and the number of the digest type"
      - id: ledger_scope_id
        type: s8
        doc: "upper half of the ledger id; not 0"
      - id: ledger_id
        type: s8
        doc: "lower half of the ledger id; may be negative"
      - id: entry_id
        type: s8
        doc: "from 0, without gaps"
      - id: rest
        size-eos: true
        doc: "the rest of the entry"
  fence:
    seq:
      - id: ledger_id
        type: s8
        doc: "the ledger"
      - id: kind
        type: s8
        doc: "-0x1000 key, -0x2000 fence, -0x8000 explicit last add confirmed, -0x62747801 deleted"
  scoped_fence:
    seq:
      - id: flags
        type: u1
        doc: "0xa0: format V2, no digest"
      - id: ledger_scope_id
        type: s8
        doc: "upper half of the ledger id, not 0"
      - id: ledger_id
        type: s8
        doc: "lower half of the ledger id"
      - id: kind
        type: s8
        doc: "-0x1000 key, -0x2000 fence, -0x8000 explicit last add confirmed, -0x62747801 deleted"
  blob:
    seq:
      - id: ledger_id
        type: s8
        doc: "the ledger"
      - id: kind
        type: s8
        doc: "-0x1000 key, -0x2000 fence, -0x8000 explicit last add confirmed, -0x62747801 deleted"
      - id: size
        type: s4
        doc: "of the bytes that follow"
      - id: blob
        size-eos: true
        doc: "the key, or the body of WRITE_LAC"
  scoped_blob:
    seq:
      - id: flags
        type: u1
        doc: "0xa0: format V2, no digest"
      - id: ledger_scope_id
        type: s8
        doc: "upper half of the ledger id, not 0"
      - id: ledger_id
        type: s8
        doc: "lower half of the ledger id"
      - id: kind
        type: s8
        doc: "-0x1000 key, -0x2000 fence, -0x8000 explicit last add confirmed, -0x62747801 deleted"
      - id: size
        type: s4
        doc: "of the bytes that follow"
      - id: blob
        size-eos: true
        doc: "the key, or the body of WRITE_LAC"
enums:
  kind:
    -4096: ledger_key
    -8192: fence
    -32768: explicit_lac
    -1651800065: deleted
