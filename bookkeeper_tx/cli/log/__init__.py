"""``bktx log``: replicated logs from the shell."""
