"""Text as people write and read it: properties files, tables, the scope of a ledger."""
