"""The metadata store in an SQLite file."""
