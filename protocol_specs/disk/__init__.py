"""Declarations of what lies on the disks of bookies: journals, entry logs, indexes, cookies."""
