"""Several ledger directories of DbLedgerStorage, each with a storage of its own"""
