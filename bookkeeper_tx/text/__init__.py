"""Text as people write and read it: properties files, tables."""
