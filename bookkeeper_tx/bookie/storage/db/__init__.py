"""The indexes of DbLedgerStorage: two RocksDB databases in the place of a file for each ledger"""
