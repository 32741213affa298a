"""The table of entry log files, read from the disk of a bookie."""
