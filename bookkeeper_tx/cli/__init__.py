"""The command ``bktx``: one file or room for each of its words."""
