# Made by python -m protocol_specs.kaitai.generate out of the declarations in protocol_specs.  Do not edit.

meta:
  id: bookkeeper_entry_log
  title: "BookKeeper, an entry log"
  license: Apache-2.0
  endian: be
  bit-endian: be
doc: "Entries of many ledgers, and a map of the ledgers once the log is full."
seq:
  - id: header
    type: header
    size: 1024
  - id: entries
    type: records
    size: "(header.ledgers_map_offset != 0 ? header.ledgers_map_offset : _io.size) - 1024"
  - id: ledgers_map
    type: ledgers_map
    size-eos: true
    if: "header.ledgers_map_offset != 0"
types:
  header:
    seq:
      - id: magic
        size: 4
        doc: "`BKLO`"
      - id: version
        type: s4
        doc: "1; 0 never has a map"
      - id: ledgers_map_offset
        type: s8
        doc: "0: no map (yet)"
      - id: ledgers_map_count
        type: s4
        doc: "ledgers in the map"
  records:
    seq:
      - id: records
        type: record
        repeat: eos
  record:
    seq:
      - id: length
        type: s4
      - id: body
        size: length
        type:
          switch-on: "_root.header.version == 2"
          cases:
            "true": scoped_entry
            "false": entry
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
  ledgers_map:
    seq:
      - id: batches
        type:
          switch-on: "_root.header.version == 2"
          cases:
            "true": scoped_ledgers_map_batch
            "false": ledgers_map_batch
        repeat: eos
  ledgers_map_batch:
    seq:
      - id: length
        type: s4
        doc: "of the bytes that follow: 20 + 16 · count"
      - id: ledger_id
        type: s8
        doc: "-1"
      - id: entry_id
        type: s8
        doc: "-2"
      - id: count
        type: s4
        doc: "rows in this batch, at most 10 000"
      - id: ledgers
        type: ledgers_map_row
        repeat: expr
        repeat-expr: count
        doc: "in any order"
  ledgers_map_row:
    seq:
      - id: ledger_id
        type: s8
        doc: "the ledger"
      - id: size
        type: s8
        doc: "its bytes in this log, length words included"
  scoped_ledgers_map_batch:
    seq:
      - id: length
        type: s4
        doc: "of the bytes that follow: 29 + 24 · count"
      - id: flags
        type: u1
        doc: "0xa0: format V2, no digest"
      - id: ledger_scope_id
        type: s8
        doc: "0: no ledger's"
      - id: ledger_id
        type: s8
        doc: "-1"
      - id: entry_id
        type: s8
        doc: "-2"
      - id: count
        type: s4
        doc: "rows in this batch, at most 10 000"
      - id: ledgers
        type: scoped_ledgers_map_row
        repeat: expr
        repeat-expr: count
        doc: "in any order"
  scoped_ledgers_map_row:
    seq:
      - id: ledger_scope_id
        type: s8
        doc: "upper half of the ledger id"
      - id: ledger_id
        type: s8
        doc: "lower half of the ledger id"
      - id: size
        type: s8
        doc: "its bytes in this log, length words included"
